package rules

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/machoobj"
)

// checkSuffixesMacOS checks the file names of modules as checkExtensionSuffix does.
func checkSuffixesMacOS(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Requested {
		return
	}
	var files []moduleFile
	for _, m := range p.Facts.MachO {
		if m.Extension() {
			files = append(files, moduleFile{
				m.Path,
				slices.ContainsFunc(m.Slices, func(s machoobj.Slice) bool {
					return s.Object != nil && s.Object.Extension()
				}),
			})
		}
	}
	checkSuffixes(p, files, parseModule)
}
