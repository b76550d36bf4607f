package elfobj

import "slices"

// implyVersions adds the version records that the symbols speak of and that are not there, as a linker would.
func (o *Object) implyVersions() {
	for _, i := range o.Imports {
		switch {
		case i.Version == "":
		case i.Library == "":
			o.implyDef(i.Version)
		default:
			o.implyNeed(i.Library, i.Version)
		}
	}
	for _, e := range o.Exports {
		if e.Version != "" {
			o.implyDef(e.Version)
		}
	}
	for _, d := range o.VersionDefs {
		for _, p := range d.Parents {
			o.implyDef(p)
		}
	}
	base := func(d VersionDef) bool { return d.Base }
	if len(o.VersionDefs) > 0 && o.SONAME != "" && !slices.ContainsFunc(o.VersionDefs, base) {
		o.VersionDefs = slices.Insert(o.VersionDefs, 0, VersionDef{Name: o.SONAME, Base: true})
	}
}

func (o *Object) implyNeed(library, name string) {
	first := -1
	for k, n := range o.VersionNeeds {
		if n.Library != library {
			continue
		}
		if slices.ContainsFunc(n.Versions, func(v NeededVersion) bool { return v.Name == name }) {
			return
		}
		if first < 0 {
			first = k
		}
	}
	if first < 0 {
		o.VersionNeeds = append(o.VersionNeeds, VersionNeed{Library: library})
		first = len(o.VersionNeeds) - 1
	}
	o.VersionNeeds[first].Versions = append(o.VersionNeeds[first].Versions, NeededVersion{Name: name})
}

func (o *Object) implyDef(name string) {
	if !slices.ContainsFunc(o.VersionDefs, func(d VersionDef) bool { return d.Name == name }) {
		o.VersionDefs = append(o.VersionDefs, VersionDef{Name: name})
	}
}

func (o *Object) impliedVersym() bool {
	return len(o.VersionNeeds)+len(o.VersionDefs) > 0
}
