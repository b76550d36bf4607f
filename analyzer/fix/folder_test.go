package fix

import "testing"

// Wheels in several folders get a command for each folder, also if the files have one name.
func TestRetagInFolders(t *testing.T) {
	to := Retagging{}.To
	to.Platform = "manylinux_2_31_x86_64"
	const options = "wheel tags --remove --platform-tag manylinux_2_31_x86_64 "
	retag := func(path, file string) Retagging {
		return Retagging{Wheel: &Wheel{Path: path, File: file}, To: to}
	}
	for _, c := range []struct {
		all  []Retagging
		want string
	}{
		{[]Retagging{retag("art/a.whl", "a.whl"), retag("art/b.whl", "b.whl")}, options + "a.whl b.whl"},
		{[]Retagging{retag("art/w 1/a.whl", "a.whl"), retag("art/w2/a.whl", "a.whl")},
			"(cd 'art/w 1' && " + options + "a.whl)\n(cd art/w2 && " + options + "a.whl)"},
		{[]Retagging{retag("a.whl", "a.whl"), retag("x/b.whl", "b.whl"), retag("c.whl", "c.whl")},
			options + "a.whl c.whl\n(cd x && " + options + "b.whl)"},
		{[]Retagging{retag("x.zip/a.whl", "a.whl"), retag("y.zip/b.whl", "b.whl")},
			options + "a.whl\n" + options + "b.whl"},
	} {
		if got := RetagCommand(c.all); string(got) != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
