package elfobj

import "iter"

// Match is what the loader makes of one definition of a name.
type Match uint8

const (
	Refused Match = iota
	Accepted
	// a default version, asked for without one: it serves where the object has no second one
	OnlyOne
)

// Offer is a definition as the loader sees it, with how its version relates to the one asked for.
type Offer struct {
	Same bool // under the version that is asked for
	Bare bool // under no version
	// under the object's first version (index 2), to which references without a version were bound
	// once
	Oldest    bool
	Hidden    bool // name@VERSION and not name@@VERSION
	Versioned bool // the reference asks for a version
	// bit 15 of the reference's version index: no definition without a version will do
	Strict bool
}

// Match is the version part of glibc's check_match (elf/dl-lookup.c), for files of a root and for
// what is known of packages and platforms alike. A version asked for is served by the same version,
// or by a definition without one; no version by one without, by the oldest, or by the default.
func (o Offer) Match() Match {
	switch {
	case o.Versioned && (o.Same || o.Bare && !o.Hidden && !o.Strict):
		return Accepted
	case o.Versioned:
		return Refused
	case o.Bare || o.Oldest:
		return Accepted
	case o.Hidden:
		return Refused
	}
	return OnlyOne
}

// Serves tells whether a reference binds to one of an object's definitions of its name.
func Serves(offers iter.Seq[Offer]) bool {
	defaults := 0
	for o := range offers {
		switch o.Match() {
		case Accepted:
			return true
		case OnlyOne:
			defaults++
		}
	}
	return defaults == 1
}

// Offer is an export, by its place in the list, for a reference; version "" is one without, oldest
// the object's OldestVersion.
func (l *Exports) Offer(n int, version, oldest string) Offer {
	own := l.Version(n)
	return Offer{
		Same:      own == version,
		Bare:      own == "",
		Oldest:    own == oldest,
		Hidden:    l.rows[n].hidden,
		Versioned: version != "",
	}
}

// OldestVersion is the first version node after the object's own name, "" where it has none.
func (o *Object) OldestVersion() string {
	for _, d := range o.VersionDefs {
		if !d.Base {
			return d.Name
		}
	}
	return ""
}
