package recording

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const output = "\x1b[31;1mincompatible\x1b[0m: a<b>.whl & more\n\n  = fix: aé\n"

func sample() *Recording {
	r := New("compat <check>", 20)
	r.Run("compat check a.whl", output)
	r.Run("true", "")
	return r
}

// The asciicast has a header, times that never decrease, and all that was typed and printed.
func TestCast(t *testing.T) {
	data, err := sample().Cast()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var header struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(lines[0]), &header); err != nil {
		t.Fatal(err)
	}
	if header.Version != 2 || header.Width != 20 || header.Height < 5 {
		t.Errorf("header %+v", header)
	}
	last, seen := 0.0, ""
	for _, l := range lines[1:] {
		var at float64
		var kind, text string
		if err := json.Unmarshal([]byte(l), &[]any{&at, &kind, &text}); err != nil {
			t.Fatal(err)
		}
		if at < last || kind != "o" {
			t.Errorf("%s after %v", l, last)
		}
		last, seen = at, seen+text
	}
	want := "$ compat check a.whl\r\n" + strings.ReplaceAll(output, "\n", "\r\n") + "$ true\r\n\r\n"
	if seen != want {
		t.Errorf("got %q, want %q", seen, want)
	}
}

// The SVG is well-formed, shows all text in order with its colors, and has no line that is wider
// than the terminal.
func TestSVG(t *testing.T) {
	data := sample().SVG()
	d := xml.NewDecoder(bytes.NewReader(data))
	text, inText := "", 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "text" || inText > 0 {
				inText++
			}
		case xml.EndElement:
			if inText > 0 {
				if inText--; inText == 0 {
					text += "\n"
				}
			}
		case xml.CharData:
			if inText > 0 {
				text += string(x)
			}
		}
	}
	want := "$ compat check a.whl\nincompatible: a<b>.w\nhl & more\n  = fix: aé\n$ true\n"
	if text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	for _, part := range []string{
		`<tspan class="c1 b">incompatible</tspan>`, "prefers-reduced-motion", "<title>compat &lt;check",
		fmt.Sprintf(`textLength="%.1f"`, 20*charWide),
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s is not in\n%s", part, data)
		}
	}
	if !bytes.Equal(data, sample().SVG()) {
		t.Error("the same session has another picture")
	}
}
