package dynlink

// Files are libraries of folders of a system, read when a path leads to them. Environments of one
// artifact share them.
type Files struct {
	open  func(path string) *Library
	known map[string]*Library
	order map[*Library]int32
	from  int // the place of the first; 0 as long as no environment has any
}

// NewFiles makes libraries of files: open gives the one at an absolute path, nil where there is
// none that can be loaded.
func NewFiles(open func(path string) *Library) *Files {
	return &Files{open: open, known: map[string]*Library{}, order: map[*Library]int32{}}
}

// At is the library at an absolute path, nil where there is none.
func (f *Files) At(path string) *Library {
	l, ok := f.known[path]
	if !ok && path != "" {
		if l = f.open(path); l != nil {
			f.order[l] = int32(len(f.order))
		}
		f.known[path] = l
	}
	return l
}

// spare is how many libraries an environment may know beyond those of the first one before the
// places of files would be theirs too.
const spare = 1 << 10

// placeOf numbers a library: those given by their order, files behind all that an environment may
// be given.
func (e *Environment) placeOf(l *Library) int32 {
	if n, ok := e.place[l]; ok || e.Files == nil {
		return n
	}
	if e.Files.from == 0 {
		e.Files.from = 2*len(e.place) + spare
	}
	return int32(e.Files.from) + e.Files.order[l]
}

// most is how many places there are.
func (e *Environment) most() int {
	if e.Files == nil || len(e.Files.order) == 0 {
		return len(e.place)
	}
	if e.Files.from == 0 {
		e.Files.from = 2*len(e.place) + spare
	}
	return e.Files.from + len(e.Files.order)
}

// folders writes folders as a search has them: with "/" at their end.
func folders(list []string) []string {
	var out []string
	for _, f := range list {
		out = append(out, cleaned(f)+"/")
	}
	return out
}
