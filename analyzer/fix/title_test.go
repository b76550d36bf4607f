package fix

import (
	"encoding/json"
	"testing"
)

// Titles that differ only in their parts have one form; all others differ in it.
func TestTitleForm(t *testing.T) {
	link := func(object, library string) Title {
		return Titled("Link %s with %s", Object(object), Library(library))
	}
	a, b := link("a.so", "libm.so.6"), link("b.so", "libz.so.1")
	if a.Form() != b.Form() || a.Equal(b) || !a.Equal(link("a.so", "libm.so.6")) {
		t.Errorf("%q and %q", a.Form(), b.Form())
	}
	for _, other := range []Title{
		Titled("Link %s with %s", "a.so", Library("libm.so.6")),
		Titled("Link %s with %s", Library("a.so"), Object("libm.so.6")),
		a.Append(" again"),
		Text(a.String()),
		{},
	} {
		if other.Form() == a.Form() {
			t.Errorf("%q has the form of %q", other, a)
		}
	}
}

// A part is replaced wherever it is, and nothing else is: text that looks like it is not a part.
func TestTitleParts(t *testing.T) {
	title := Titled("Pin %s, %d%% of %s", Requirement("torch>=2"), 5, "torch>=2").
		Append(", and link %s", Library("libc10.so"))
	if got := Part[Library](title); got != "libc10.so" {
		t.Errorf("library %q", got)
	}
	if got := Part[Object](title); got != "" {
		t.Errorf("object %q", got)
	}
	title = With(With(title, Requirement("torch>=2,<3")), Library("libc10.so and libtorch.so"))
	const want = "Pin torch>=2,<3, 5% of torch>=2, and link libc10.so and libtorch.so"
	if title.String() != want {
		t.Errorf("got %q", title)
	}
	if got := With(Title{}, Library("libm.so.6")); !got.Equal(Title{}) {
		t.Errorf("an empty title became %q", got)
	}
}

// Some words depend on how many wheels or libraries a fix changes.
func TestTitleWords(t *testing.T) {
	title := Tagging("manylinux_2_31_x86_64 (%d)")
	for n, want := range []string{"the wheel", "the wheel", "the wheels", "the wheels"} {
		if got := title.For(n).String(); got != "Tag "+want+" manylinux_2_31_x86_64 (%d)" {
			t.Errorf("%d: %q", n, got)
		}
	}
	if got := Part[Tags](title.For(2)); got != "manylinux_2_31_x86_64 (%d)" {
		t.Errorf("tags %q", got)
	}
	together := Together([]string{"torch==2.5", "numpy==1.26"})
	if got := With(together, Requirement("torch==2.6")).String(); got !=
		"Change together: torch==2.6, numpy==1.26" {
		t.Errorf("got %q", got)
	}
}

// JSON has a title as text, also if it contains what fmt or JSON interprets.
func TestTitleJSON(t *testing.T) {
	for _, text := range []string{"", "Link libm.so.6", "100%s <b>\"\n", "100%"} {
		x := Fix{Kind: KindLinkFlag, Title: Titled("%s", Library(text)), Cost: []string{}}
		out, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		var as struct{ Title string }
		var back Fix
		if err := json.Unmarshal(out, &as); err != nil || as.Title != text {
			t.Errorf("%q became %q: %v", text, as.Title, err)
		}
		if err := json.Unmarshal(out, &back); err != nil || !back.Same(x) ||
			Part[Library](back.Title) != "" {
			t.Errorf("%q became %q: %v", text, back.Title, err)
		}
	}
}

// The command of a fix is not repeated after a title that contains it.
func TestShowsCommand(t *testing.T) {
	x := Fix{Title: Titled("Pin %s", Requirement("torch>=2")), Command: "torch>=2"}
	y := Fix{Title: Titled("Pin torch"), Command: "torch>=2"}
	if !x.ShowsCommand() || y.ShowsCommand() {
		t.Errorf("%v, %v", x.ShowsCommand(), y.ShowsCommand())
	}
}
