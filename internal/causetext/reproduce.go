package causetext

import (
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// Recipe is a way to see a cause fail.
type Recipe struct {
	Where   string // "in the folder of the file, on Debian 12"
	Command shellword.Line
}

// Recipes returns the ways to see a cause fail, the first of them without what a machine has
// installed if that is possible.
func Recipes(p *result.Reproduction) []Recipe {
	if p.Container == "" {
		return []Recipe{{"in the folder of the file, on " + p.System, p.Venv}}
	}
	return []Recipe{
		{"in the folder of the file, in a container with " + p.System, p.Container},
		{"or without a container, on " + p.System, p.Venv},
	}
}
