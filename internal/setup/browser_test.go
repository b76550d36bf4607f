package setup_test

import (
	"testing"

	"github.com/compat-app/compat/internal/test/browser"
)

// The whole flow in a real browser: style and form satisfy the Content-Security-Policy, the
// cookie is sent after GitHub's redirect, and the page fits on a phone.
func TestSetupInABrowser(t *testing.T) {
	d := sit(t, "/api/v3", "acme")
	p := browser.Start(t).Open(d.page.Link(), browser.View{Width: 390})
	defer p.Close()
	var page struct {
		Path, Search, Button string
		Wide                 bool
		Forms, Scripts       int
	}
	p.Eval(
		`({path: location.pathname, search: location.search, forms: document.forms.length, scripts: document.scripts.length,
		button: getComputedStyle(document.querySelector("button")).backgroundColor, wide: document.documentElement.scrollWidth > innerWidth})`,
		&page,
	)
	if page.Path != "/setup" || page.Search != "" || page.Forms != 1 || page.Scripts != 0 ||
		page.Button != "rgb(26, 127, 55)" ||
		page.Wide {
		t.Errorf("the page: %+v", page)
	}
	var broken []string // words of the tables that are on two lines
	p.Eval(`(() => {
		const broken = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
		while (texts.nextNode()) {
			const text = texts.currentNode
			if (!text.parentElement.closest("table")) continue
			for (const word of text.data.matchAll(/\w+/g)) {
				const range = document.createRange()
				range.setStart(text, word.index)
				range.setEnd(text, word.index + word[0].length)
				if (range.getClientRects().length > 1) broken.push(word[0])
			}
		}
		return broken
	})()`, &broken)
	if len(broken) > 0 {
		t.Errorf("words are broken: %q", broken)
	}
	p.Click("button")
	p.Click("button") // GitHub's button
	var end string
	if p.Eval("location.pathname + ' ' + document.querySelector('h1').innerText",
		&end); end != "/setup/created compat setup App created" {
		t.Errorf("it ends at %s", end)
	}
	made, err := d.made()
	if err != nil {
		t.Fatal(err)
	}
	d.serves(made)
	if ran := p.Ran(); len(ran) > 0 {
		t.Errorf("the browser noticed %v", ran)
	}
}
