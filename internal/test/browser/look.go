package browser

import (
	"fmt"
	"os"
)

// CopyScript is the start of the only script of a report's page, as it is in Seen.Active.
const CopyScript = "<script>// Adds a button to each command that copies it."

// Seen is what a reader sees of a page.
type Seen struct {
	Title  string
	Back   string   // background color
	Low    []string // text with too little contrast (WCAG 2.2, 1.4.3: 4.5 to 1)
	Active []string // elements that run, load or send something
	Loaded []string // addresses that were loaded, without the style sheets
	Stuck  []string // elements that scroll, but not with the keyboard
	Over   int      // pixels by which the page is wider than the window
}

// Problems returns what no page may have, apart from elements in Active.
func (s *Seen) Problems() (out []string) {
	for name, found := range map[string][]string{"too little contrast": s.Low, "loaded": s.Loaded,
		"scrolls without the keyboard": s.Stuck} {
		for _, f := range found {
			out = append(out, name+": "+f)
		}
	}
	if s.Over > 0 {
		out = append(out, fmt.Sprintf("it is %d pixels too wide", s.Over))
	}
	return out
}

// Look returns what a reader sees of the page.
func (p *Page) Look() (s Seen) {
	p.b.t.Helper()
	p.Eval(look, &s)
	return s
}

// Violations returns what axe-core, whose file COMPAT_AXE names, finds in the page. Without the
// variable it finds nothing.
func (p *Page) Violations() (out []string) {
	p.b.t.Helper()
	axe, err := os.ReadFile(os.Getenv("COMPAT_AXE"))
	if err != nil {
		return nil
	}
	const run = ";axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes[0].html))"
	p.Eval(string(axe)+run, &out)
	return out
}

const look = `(() => {
  const rgb = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m };
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c) return c } return [255, 255, 255] };
  const low = [], all = [...document.querySelectorAll('body *')];
  for (const e of all) if ([...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) {
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    if ((Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5) low.push(e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40));
  }
  return {
    Title: document.title, Low: low, Back: behind(document.body).join(), Over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    Active: all.filter(e => /^(SCRIPT|IMG|IFRAME|OBJECT|EMBED|FORM|VIDEO|AUDIO|LINK|META|BASE)$/.test(e.tagName) || [...e.attributes].some(a => a.name.startsWith('on') || /^\s*javascript:/i.test(a.value))).map(e => e.outerHTML.slice(0, 80)),
    Stuck: all.filter(e => e.tabIndex < 0 && e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX)).map(e => e.outerHTML.slice(0, 80)),
    Loaded: performance.getEntriesByType('resource').map(e => e.name).filter(n => !/\/((markdown|frame|style)\.css|favicon\.ico)$/.test(n)),
  }
})()`
