"""One prompt from a script without an event loop. Runs offline."""

from pi.sdk import discover_models, run
from pi.testing import ScriptedProvider, says

# A script answers, so that no key is needed. Without these two lines, and without model_registry
# and model below, your own credentials and settings select the model.
models = discover_models()
models.models.register(ScriptedProvider(says("An empty folder, so far.")))

print(run("What is this project?", model_registry=models, model="faux/faux"))
