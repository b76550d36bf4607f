package dynlink

// verdict is what check_match says of one definition of a name.
type verdict uint8

const (
	refused verdict = iota
	accepted
	onlyOne // a default version, asked for without one: it serves where the object has no second one
)

// offer is a definition as check_match sees it, with how its version relates to the one asked for.
type offer struct {
	same      bool // under the version that is asked for
	bare      bool // under no version
	oldest    bool // under the object's first version (index 2), to which references without a version were bound once
	hidden    bool // name@VERSION and not name@@VERSION
	versioned bool // the reference asks for a version
	strict    bool // bit 15 of the reference's version index: no definition without a version will do
}

// checkMatch is the version part of glibc's check_match (elf/dl-lookup.c), for files of a root and for what is known of packages and platforms alike.
// A version asked for is served by the same version, or by a definition without one; no version by one without, by the oldest, or by the default.
func checkMatch(o offer) verdict {
	switch {
	case o.versioned && (o.same || o.bare && !o.hidden && !o.strict):
		return accepted
	case o.versioned:
		return refused
	case o.bare || o.oldest:
		return accepted
	case o.hidden:
		return refused
	}
	return onlyOne
}
