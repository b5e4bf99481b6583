"""Fifty pages of the shapes that are found on the web; all contents are invented."""

# ruff: noqa: E501 -- markup is clearer unwrapped

from __future__ import annotations

WORDS = "Enough words to be the main part of a page, as an article or a manual has them. " * 4
NAV = '<nav><ul><li><a href="/">Home</a><li><a href="/docs">Docs</a></ul></nav>'
FOOT = "<footer><p>© Example. <a href='/terms'>Terms</a></p></footer>"


def page(body: str, title: str = "Example", head: str = "") -> bytes:
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title>{head}</head>"
        f"<body>{body}</body></html>"
    ).encode()


def framed(body: str, title: str = "Example") -> bytes:
    return page(f"<header><h2>Site</h2></header>{NAV}<main>{body}</main>{FOOT}", title)


SHAPES: dict[str, bytes] = {
    # Documentation -------------------------------------------------------------------------------
    "docs-sphinx": framed(
        f"""<div class="document"><section id="a"><h1>Timeouts<a class="headerlink" href="#a"
        title="Link to this heading">¶</a></h1><p>{WORDS}</p><dl class="py function"><dt
        class="sig" id="x.timeout"><em class="property"><span>async with </span></em><span
        class="sig-prename">asyncio.</span><span class="sig-name">timeout</span><span
        class="sig-paren">(</span><em class="sig-param">delay</em><span>)</span><a
        class="headerlink" href="#x.timeout">¶</a></dt><dd><p>Limits the time.</p><p
        class="versionadded">Added in version 3.11.</p></dd></dl></section></div>"""
    ),
    "docs-mkdocs-code": framed(
        f"""<article class="md-content__inner"><h1>Install<a class="headerlink" href="#i">#</a></h1>
        <p>{WORDS}</p><div class="language-bash highlight"><pre><span></span><code><span
        class="w">$ </span>pip install example
        <button class="md-clipboard" title="Copy">Copy</button></code></pre></div>
        <div class="admonition note"><p class="admonition-title">Note</p><p>Needs Python.</p></div>
        </article>"""
    ),
    "docs-line-numbers": framed(
        f"""<h1>Listing</h1><p>{WORDS}</p><table class="highlighttable"><tr><td class="linenos">
        <pre>1
2</pre></td><td class="code"><pre><code class="language-python">import os
print(os.name)</code></pre></td></tr></table>"""
    ),
    "docs-tabs": framed(
        f"""<h1>Usage</h1><p>{WORDS}</p><div role="tablist"><button role="tab">Python</button>
        <button role="tab">Go</button></div><div role="tabpanel"><pre><code
        class="lang-python">run()</code></pre></div><div role="tabpanel" hidden><pre><code
        class="lang-go">Run()</code></pre></div>"""
    ),
    "docs-definition-list": framed(
        f"""<h1>Options</h1><p>{WORDS}</p><dl><dt><code>--all</code></dt><dd>Show everything.</dd>
        <dt><code>--one</code></dt><dd><p>Show one.</p><ul><li>quickly<li>slowly</ul></dd></dl>"""
    ),
    "docs-rustdoc": framed(
        f"""<h1>Struct <span class="struct">Vec</span></h1><pre class="rust item-decl"><code>pub struct
Vec&lt;T&gt; {{ <span class="comment">/* private */</span> }}</code></pre><details class="top-doc" open>
        <summary class="hideme"><span>Expand description</span></summary><p>{WORDS}</p></details>"""
    ),
    "docs-javadoc-table": framed(
        f"""<h1>Class List</h1><p>{WORDS}</p><table><caption>Methods</caption><thead><tr><th>Type</th>
        <th>Method</th></tr></thead><tbody><tr><td><code>int</code></td><td><code><a
        href="#size--">size</a>()</code><div>The size.</div></td></tr><tr><td><code>void</code></td>
        <td><code>clear()</code></td></tr></tbody></table>"""
    ),
    "docs-api-keys": framed(
        f"""<h1>Create</h1><p>{WORDS}</p><p>Press <kbd>Ctrl</kbd>+<kbd>C</kbd>, then type
        <samp>yes</samp>. See <a href="reference.html#x">the <code>x</code> option</a>.</p>"""
    ),
    # Articles ------------------------------------------------------------------------------------
    "blog-article": page(
        f"""{NAV}<article><header><h1>On time</h1><p class="meta">By <a rel=author href="/ada">Ada</a>
        <time datetime="2026-11-01">1 Nov</time></p></header><p>{WORDS}</p><blockquote><p>Time is
        <strong>short</strong>.</p></blockquote><figure><img src="/i.png" alt="A clock"><figcaption>A
        clock.</figcaption></figure><p>The <em>end</em>.</p></article><aside><h3>Popular</h3><a
        href="/p">Post</a></aside>{FOOT}"""
    ),
    "blog-two-articles": page(
        f"""<article><h2><a href="/1">First</a></h2><p>{WORDS}</p></article><article><h2><a
        href="/2">Second</a></h2><p>Short.</p></article>"""
    ),
    "blog-share-buttons": page(
        f"""<main><h1>News</h1><div class="share"><button>Share</button></div><p>{WORDS}</p><form
        action="/subscribe"><input name=mail><button>Subscribe</button></form></main>"""
    ),
    "news-figure-picture": page(
        f"""<main><h1>Flood</h1><picture><source srcset="a.webp"><img src="a.jpg" alt="The
        river"></picture><p>{WORDS}</p><p><a href="//cdn.example/x">More</a></p></main>"""
    ),
    "encyclopedia": page(
        f"""<div id="content"><h1>Clock</h1><div class="mw-parser-output"><table class="infobox"><tr><th
        colspan=2>Clock</th></tr><tr><th>Invented</th><td>1656</td></tr></table><p>A <b>clock</b>
        shows time.<sup id="r1"><a href="#n1">[1]</a></sup> {WORDS}</p><h2>History<span
        class="mw-editsection">[<a href="/edit">edit</a>]</span></h2><p>Old.</p></div></div>"""
    ),
    "newsletter-layout-tables": page(
        f"""<table width=600><tr><td><table><tr><td><h1>Weekly</h1></td></tr><tr><td><p>{WORDS}</p>
        </td></tr></table></td></tr></table>"""
    ),
    "recipe": framed(
        f"""<h1>Bread</h1><p>{WORDS}</p><h2>Ingredients</h2><ul><li>500 g flour</li><li>1 egg</li></ul>
        <h2>Steps</h2><ol><li><p>Mix.</p></li><li><p>Bake.</p><p>Wait.</p></li></ol>"""
    ),
    # Tables --------------------------------------------------------------------------------------
    "table-simple": framed(
        f"""<p>{WORDS}</p><table><tr><th>Name</th><th>Price</th></tr><tr><td>A | B</td><td>1,00
        €</td></tr><tr><td><a href="/c">C</a></td><td></td></tr></table>"""
    ),
    "table-spans": framed(
        f"""<p>{WORDS}</p><table><thead><tr><th rowspan=2>City</th><th colspan=2>Rain</th></tr><tr>
        <th>May</th><th>June</th></tr></thead><tbody><tr><td>Oslo</td><td>5</td><td>6</td></tr>
        </tbody></table>"""
    ),
    "table-nested": framed(
        f"""<p>{WORDS}</p><table><tr><td>a</td><td><table><tr><td>b</td><td>c</td></tr></table></td>
        </tr><tr><td>d</td><td>e</td></tr></table>"""
    ),
    "table-code-cells": framed(
        f"""<p>{WORDS}</p><table><tr><th>Call</th><th>Result</th></tr><tr><td><pre>f(1)
f(2)</pre></td><td><ul><li>one</li><li>two</li></ul></td></tr></table>"""
    ),
    "table-empty-header": framed(
        f"""<p>{WORDS}</p><table><tr><td></td><td>x</td></tr><tr><td>1</td><td>2</td></tr></table>"""
    ),
    # Code ----------------------------------------------------------------------------------------
    "code-fences-inside": framed(
        f"""<p>{WORDS}</p><pre><code class="language-md">```py
x
```</code></pre>"""
    ),
    "code-inline-backtick": framed(f"<p>{WORDS}</p><p>Type <code>`date`</code> here.</p>"),
    "code-spans-lines": framed(
        f"""<p>{WORDS}</p><div class="highlight"><pre><span class="line">a = 1</span>
<span class="line">    b = 2</span>
</pre></div>"""
    ),
    "code-br-lines": framed(f"<p>{WORDS}</p><pre>first<br>second<br/>third</pre>"),
    "code-div-lines": framed(
        f"""<p>{WORDS}</p><pre><code><div class="line">one()</div><div class="line">two()</div></code>
        </pre>"""
    ),
    "code-pre-in-list": framed(
        f"""<p>{WORDS}</p><ol><li><p>Run</p><pre><code class="language-sh">make
make test</code></pre></li><li>Done</li></ol>"""
    ),
    "code-diff": framed(
        f"""<p>{WORDS}</p><pre class="brush: diff">-old &amp; gone
+new &lt;b&gt;</pre>"""
    ),
    # Forums and lists ----------------------------------------------------------------------------
    "forum-answers": page(
        f"""<main><h1>How?</h1><div class="post"><div class="vote">12</div><p>{WORDS}</p></div><h2>2
        Answers</h2><div class="answer"><p>Use <code>x</code>.</p><div class="comment">Thanks! –
        <a href="/u/1">Bob</a></div></div><div class="answer"><p>Or y.</p></div></main>"""
    ),
    "forum-nested-comments": page(
        f"""<main><h1>Show: a clock</h1><p>{WORDS}</p><ul><li><p>Nice.</p><ul><li><p>Yes.</p><ul>
        <li><p>No.</p></li></ul></li></ul></li><li><p>Why?</p></li></ul></main>"""
    ),
    "forum-quotes": page(
        f"""<main><p>{WORDS}</p><blockquote>one<blockquote>two</blockquote>three</blockquote></main>"""
    ),
    "issue-tracker": page(
        f"""<main><h1>Crash #12</h1><span class="State">Open</span><p>{WORDS}</p><ul
        class="contains-task-list"><li><input type=checkbox checked> done</li><li><input
        type=checkbox> open</li></ul></main>"""
    ),
    "search-results": page(
        """<div class="r"><h3><a href="https://a.example/">A</a></h3><cite>a.example</cite><p>About
        a.</p></div><div class="r"><h3><a href="https://b.example/">B</a></h3><p>About b.</p></div>"""
    ),
    "product": page(
        f"""<main><h1>Lamp</h1><p><s>30 €</s> <b>20 €</b></p><select><option>red<option>blue</select>
        <p>{WORDS}</p><details><summary>Shipping</summary><p>Two days.</p></details></main>"""
    ),
    "changelog": framed(
        f"""<h1>Changes</h1><p>{WORDS}</p><h2 id="v2">2.0 <small>2026-11-01</small></h2><ul><li><b>New:
        </b>clocks</li><li>Fix <a href="/i/1">#1</a></li></ul><hr><h2>1.0</h2><p>First.</p>"""
    ),
    "link-list": page(
        '<h1>Links</h1><ul><li><a href="a">A</a><li><a href="https://b.example/c d">B</a>'
        '<li><a href="javascript:x()">C</a><li><a href="mailto:a@b.example">D</a><li>'
        '<a href="data:text/html,x">E</a></ul>'
    ),
    # Applications and shells ---------------------------------------------------------------------
    "spa-shell": page(
        '<noscript>You need to enable JavaScript.</noscript><div id="root"></div>'
        '<script src="/app.js"></script>',
        "App",
    ),
    "spa-state": page(
        '<div id="app"><p>Loading…</p></div><script>window.__STATE__ = {"a": "<p>no</p>"}</script>'
    ),
    "login-wall": page(
        "<form><label>User <input></label><label>Password <input type=password></label>"
        "<button>Log in</button></form><p>Please log in.</p>"
    ),
    "cookie-banner": page(
        f"""<div role="dialog" aria-hidden="true"><p>We use cookies.</p></div><main><h1>Text</h1><p>
        {WORDS}</p></main>"""
    ),
    "frameset": b"<html><frameset cols='50%,50%'><frame src='a.html'><frame src='b.html'>"
    b"<noframes><p>No frames.</p></noframes></frameset></html>",
    "form-controls-in-text": framed(
        f"""<form><h1>Settings</h1><p>{WORDS}</p><fieldset><legend>Colours</legend><label><input
        type=radio> red</label></fieldset></form>"""
    ),
    # Broken and odd ------------------------------------------------------------------------------
    "broken-unclosed": b"<h1>Title<p>One<p>Two <b>bold<i>both</b>italic</i><ul><li>a<li>b</ul><p>End",
    "broken-misnested-table": page(
        "<table><p>before</p><tr><td>1<td>2<tr><td>3</table><p>after</p>"
    ),
    "broken-attributes": page("<a href='x' \"<p>text</a><img alt=\"a'b\" src=i.png><p>rest</p>"),
    "no-body-plain": b"just words\n\nand more",
    "fragment": b"<h2>Part</h2><p>A <em>part</em> of a page.</p>",
    "entities": page(
        "<p>&lt;b&gt; &amp;amp; &nbsp;x&nbsp;&hellip; &#x1F600; &copy; &notanentity;</p>"
    ),
    "whitespace": page(
        "<p>  many \n\n  blanks\t here </p><p> </p><p>next</p><div><div>x</div></div>"
    ),
    "markdown-characters": page(
        "<p>1. not a list</p><p># not a heading</p><p>* star *</p><p>a_b_c</p>"
    ),
    "hidden-text": page(
        '<p>shown</p><p hidden>no</p><p style="display:none">no</p><p style="visibility: hidden">no'
        '</p><p aria-hidden="true">no</p><span style="font-size:0">no</span><p>end</p>'
    ),
    "svg-math": page(
        "<p>Area <math><mi>a</mi><mo>=</mo><msup><mi>r</mi><mn>2</mn></msup></math></p><svg><text>no"
        "</text></svg><p>x<sub>1</sub> and y<sup>2</sup></p>"
    ),
    "ruby": page("<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字</p>"),
    "headings-links": page(
        '<h2><a href="/a">Linked <code>code</code></a></h2><h3><b>Bold</b></h3>'
    ),
    "image-links": page(
        '<p><a href="/big"><img src="s.png" alt="A view"></a><a href="/x"><img></a></p>'
    ),
    # Encodings -----------------------------------------------------------------------------------
    "encoding-latin1": '<meta charset="iso-8859-1"><p>Grüße für alle</p>'.encode("latin-1"),
    "encoding-windows1251": (
        b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>'
        + "Привет, мир".encode("cp1251")
        + b"</p>"
    ),
    "encoding-shift-jis": b'<meta charset="Shift_JIS"><p>' + "時計".encode("shift_jis") + b"</p>",
    "encoding-gb2312": b'<meta charset="gb2312"><p>' + "时钟 — 好".encode("gbk") + b"</p>",
    "encoding-utf16": "<p>Zeit über alles</p>".encode("utf-16"),
    "encoding-big5": b'<meta charset="big5"><p>' + "時鐘".encode("big5") + b"</p>",
    "encoding-euc-kr": b"<meta charset=euc-kr><p>" + "시계".encode("euc-kr") + b"</p>",
    "encoding-undeclared-latin1": "<p>Caf\xe9 cr\xe8me</p>".encode("latin-1"),
    # Huge ----------------------------------------------------------------------------------------
    "huge-list": page("<ul>" + "".join(f"<li>item {n}</li>" for n in range(3000)) + "</ul>"),
    "huge-line": page(f"<p>{'word ' * 20_000}</p>"),
}
