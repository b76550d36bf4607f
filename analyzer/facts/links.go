package facts

import (
	"path"
	"slices"
)

const (
	// maxLinks limits the links of an artifact that are kept; the largest conda packages have some
	// thousand.
	maxLinks = 20_000
	// maxNamesOf limits the links to one object, because links between folders may form a circle,
	// and those to one folder.
	maxNamesOf = 16
)

// link handles a link of an archive.
func (a *Artifact) link(at, target string) {
	if a.links == nil {
		a.links = map[string][]string{}
	}
	if a.linkCount++; a.linkCount <= maxLinks && len(a.links[target]) < maxNamesOf {
		a.links[target] = append(a.links[target], at)
	}
}

// finishLinks sets the links of the objects: those to the file itself, to one of its folders, and
// to another link.
func (a *Artifact) finishLinks() {
	for _, o := range a.Objects {
		names := []string{o.Path}
		for i := 0; i < len(names) && len(names) < maxNamesOf; i++ {
			for at := names[i]; at != "."; at = path.Dir(at) {
				for _, l := range a.links[at] {
					name := l + names[i][len(at):]
					if len(names) < maxNamesOf && !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
		}
		o.Links = names[1:]
	}
	a.links = nil
}
