package browser

import (
	"encoding/json"
	"slices"
	"time"
)

// View is the viewport of a page.
type View struct {
	Width int // of the viewport, in CSS pixels
	Dark  bool
	Print bool // as it is printed
	// NoScripts disables the scripts of the page; Eval still works.
	NoScripts bool
}

// Page is an open page.
type Page struct {
	b       *Browser
	session string
	view    View
}

const height = 900 // of the viewport; pages are longer

// Open loads a page and waits until it is complete.
func (b *Browser) Open(url string, v View) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(
		"",
		"Target.attachToTarget",
		map[string]any{"targetId": target.TargetID, "flatten": true},
		&attached,
	)
	p := &Page{b, attached.SessionID, v}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := "screen"
	if v.Print {
		media = "print"
	}
	p.call("Page.enable", map[string]any{}, nil)
	p.call("Runtime.enable", map[string]any{}, nil)
	p.call("Log.enable", map[string]any{}, nil)
	p.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": v.NoScripts}, nil)
	p.call(
		"Emulation.setDeviceMetricsOverride",
		map[string]any{"width": v.Width, "height": height, "deviceScaleFactor": 1, "mobile": false},
		nil,
	)
	p.call(
		"Emulation.setEmulatedMedia",
		map[string]any{
			"media":    media,
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
		},
		nil,
	)
	p.loads(url, func() { p.call("Page.navigate", map[string]any{"url": url}, nil) })
	return p
}

// Click clicks the first element that matches a CSS selector, and waits for the next page.
func (p *Page) Click(selector string) {
	p.b.t.Helper()
	find, err := json.Marshal(selector)
	if err != nil {
		p.b.t.Fatal(err)
	}
	p.loads(
		"what comes of "+selector,
		func() { p.Eval("document.querySelector("+string(find)+").click()", nil) },
	)
}

// loads calls do and waits until a page is loaded.
func (p *Page) loads(what string, do func()) {
	p.b.t.Helper()
	loaded := p.b.event(p.session, "Page.loadEventFired")
	do()
	select {
	case <-loaded:
	case <-time.After(patience):
		p.b.t.Fatalf("the browser does not load %s", what)
	}
}

func (p *Page) call(method string, params, to any) {
	p.b.t.Helper()
	p.b.call(p.session, method, params, to)
}

// Eval evaluates an expression in the page, waits for it if it is a promise, and decodes its JSON
// value. The page's Content-Security-Policy does not apply.
func (p *Page) Eval(expression string, to any) {
	p.b.t.Helper()
	out := struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}{}
	out.Result.Value = to
	p.call("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true,
	}, &out)
	if out.ExceptionDetails != nil {
		p.b.t.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
}

// Ran returns what scripts of the page have done: dialogs, console messages, exceptions; and what
// the browser logs, such as violations of the Content-Security-Policy.
func (p *Page) Ran() []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return slices.Clone(p.b.seen[p.session])
}

// Picture returns a screenshot from the top of the page as PNG, of at most most pixels in height.
func (p *Page) Picture(most int) []byte {
	p.b.t.Helper()
	var full int
	p.Eval("Math.ceil(document.documentElement.getBoundingClientRect().height)", &full)
	var shot struct{ Data []byte }
	p.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{
			"x":      0,
			"y":      0,
			"width":  p.view.Width,
			"height": min(full, most),
			"scale":  1,
		}}, &shot)
	return shot.Data
}

// Close closes the page.
func (p *Page) Close() {
	p.b.t.Helper()
	p.call("Page.close", map[string]any{}, nil)
}
