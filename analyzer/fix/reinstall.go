package fix

import "github.com/compat-app/compat/internal/shellword"

// Reinstall returns the fix that installs packages, as NAME==VERSION, again. It has no command for
// packages that conda may have installed.
func Reinstall(ids []string, conda bool) Fix {
	x := Fix{Kind: KindEnvironment, Title: Titled("Install it again"), Cost: []string{}}
	if len(ids) > 1 {
		x.Title = Titled("Install them again")
	}
	if !conda {
		x.Title = x.Title.Append(" with the pip of the environment")
		x.Command = "python -m pip install --force-reinstall --no-deps " + shellword.Quoted(ids)
	}
	return x
}
