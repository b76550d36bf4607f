package browser

import (
	"encoding/json"
	"slices"
	"time"
)

// View is how a page is looked at.
type View struct {
	Width int // of the window, in CSS pixels
	Dark  bool
}

// Page is an open page.
type Page struct {
	b       *Browser
	session string
	view    View
}

const height = 900 // of the window: pages are longer

// Open loads a page and waits until all of it is there.
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
	p.call("Page.enable", map[string]any{}, nil)
	p.call("Runtime.enable", map[string]any{}, nil)
	p.call(
		"Emulation.setDeviceMetricsOverride",
		map[string]any{"width": v.Width, "height": height, "deviceScaleFactor": 1, "mobile": false},
		nil,
	)
	p.call(
		"Emulation.setEmulatedMedia",
		map[string]any{
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
		},
		nil,
	)
	p.loads(url, func() { p.call("Page.navigate", map[string]any{"url": url}, nil) })
	return p
}

// Click presses what a CSS selector finds first, and waits until all of the page that comes of it
// is there.
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

// loads waits until a page is loaded by what do does.
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

// Eval gives the value of an expression in the page, as JSON would carry it. A page's own policy
// does not keep it out.
func (p *Page) Eval(expression string, to any) {
	p.b.t.Helper()
	out := struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}{}
	out.Result.Value = to
	p.call(
		"Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true},
		&out,
	)
	if out.ExceptionDetails != nil {
		p.b.t.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
}

// Ran says what the page has run so far that can be noticed: dialogs, words for the console,
// exceptions.
func (p *Page) Ran() []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return slices.Clone(p.b.seen[p.session])
}

// Picture is the page from its top, as PNG, at most so many pixels high.
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
