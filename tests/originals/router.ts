// Registers a virtual model of the original: it routes to loop/two and counts its requests.
export default function (pi: any) {
	pi.registerVirtualModel({
		provider: "loop",
		id: "router",
		name: "Router",
		route(request: any, ctx: any) {
			const count = (request.state?.count ?? 0) + 1;
			return { model: ctx.modelRegistry.find("loop", "two"), thinkingLevel: "off", state: { count } };
		},
	});
}
