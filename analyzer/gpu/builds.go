package gpu

import "github.com/compat-app/compat/internal/shellword"

// builds are the commands that build a project for a GPU stack from its source, for projects where
// pip alone is not enough (from their installation guides).
var builds = map[string]map[string]shellword.Line{
	"bitsandbytes": {
		"ROCm": "cmake -DCOMPUTE_BACKEND=hip -DBNB_ROCM_ARCH='gfx90a;gfx942;gfx1100' -S . && " +
			"make && pip install .",
		"CUDA": "cmake -DCOMPUTE_BACKEND=cuda -S . && make && pip install .",
	},
}

// BuildCommand returns the command that builds a project for a GPU stack ("CUDA" or "ROCm") from
// its source. It is "" for projects that pip builds.
func BuildCommand(project, stack string) shellword.Line { return builds[project][stack] }
