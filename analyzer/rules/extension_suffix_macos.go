package rules

import "github.com/compat-app/compat/analyzer"

// checkSuffixesMacOS checks the file names of modules as checkExtensionSuffix does.
func checkSuffixesMacOS(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Requested {
		return
	}
	var files []string
	for _, m := range p.Facts.MachO {
		if m.Extension() {
			files = append(files, m.Path)
		}
	}
	checkSuffixes(p, files, parseModule)
}
