package staticlink

import "slices"

// answers remembers who defines what the libraries of a system import. Without it each link asks each library that it reads for each import of each other: with
// hundreds of libraries, as in vtk's wheel, that is billions of questions.
type answers struct {
	known    map[*Library]bool
	exported map[string][]*Library      // files by what they export, under any version
	provided map[question][2][]*Library // the platform's libraries that link, and that bind
	memo     map[*Library][2][][]*Library
}

type question struct{ name, version string }

// The two ways to ask; see symbols.
const (
	linking = iota
	binding
)

// learn takes in a file. Imports that were asked for before are asked for again.
func (s *System) learn(l *Library) {
	x, ok := l.symbols.(*index)
	if !ok || s.asked.known[l] {
		return
	}
	if s.asked.known == nil {
		s.asked = answers{known: map[*Library]bool{}, exported: map[string][]*Library{}, provided: map[question][2][]*Library{}}
	}
	s.asked.known[l], s.asked.memo = true, map[*Library][2][][]*Library{}
	for i := range x.exports {
		name := x.exports[i].Name
		if by := s.asked.exported[name]; len(by) == 0 || by[len(by)-1] != l { // a name may come in several versions
			s.asked.exported[name] = append(by, l)
		}
	}
}

// definers lists for each import of a library who defines it.
func (s *System) definers(l *Library, way int) [][]*Library {
	both := s.asked.memo[l]
	if both[way] != nil || len(l.Imports) == 0 {
		return both[way]
	}
	out := make([][]*Library, len(l.Imports))
	for n, i := range l.Imports {
		own := s.ofPlatform(question{i.Name, i.Version}, way)
		var files []*Library
		for _, x := range s.asked.exported[i.Name] {
			if way == linking && x.Links(i.Name, i.Version) || way == binding && x.Binds(i.Name, i.Version) {
				files = append(files, x)
			}
		}
		switch {
		case len(files) == 0:
			out[n] = own
		case len(own) == 0:
			out[n] = files
		default:
			out[n] = slices.Concat(files, own)
		}
	}
	both[way] = out
	s.asked.memo[l] = both
	return out
}

// ofPlatform lists the platform's libraries that define a symbol.
func (s *System) ofPlatform(q question, way int) []*Library {
	both, ok := s.asked.provided[q]
	if !ok {
		for _, p := range s.platform.Libraries() {
			if !p.Has(q.name, q.version) {
				continue
			}
			l := s.provided(p.SONAME)
			if l.Links(q.name, q.version) {
				both[linking] = append(both[linking], l)
			}
			if l.Binds(q.name, q.version) {
				both[binding] = append(both[binding], l)
			}
		}
		s.asked.provided[q] = both
	}
	return both[way]
}
