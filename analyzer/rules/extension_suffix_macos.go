package rules

import (
	"strings"

	"github.com/compat-app/compat/analyzer"
)

// checkSuffixesMacOS checks the file names of modules as checkExtensionSuffix does.
func checkSuffixesMacOS(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Requested {
		return
	}
	var files []moduleFile
	for _, m := range p.Facts.MachO {
		if m.Extension() {
			f := moduleFile{path: m.Path}
			for _, s := range m.Slices {
				if s.Object == nil {
					continue
				}
				for _, e := range s.Object.Exports {
					f.add(strings.TrimPrefix(e.Name, "_"))
				}
			}
			files = append(files, f)
		}
	}
	checkSuffixes(p, files, parseModule)
}
