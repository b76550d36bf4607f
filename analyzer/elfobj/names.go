package elfobj

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// Names numbers symbol names and keeps each once. Objects of one project share most of theirs: of
// 207,000 symbols in vtk's wheel a third have a name of their own. It is safe for concurrent use.
type Names struct {
	mu    sync.Mutex
	seed  maphash.Seed
	slots []uint32 // by hash, open addressing: number+1, 0 where nothing is; a power of two
	all   []string // by number
	text  strings.Builder

	shown atomic.Pointer[[]string] // all, as far as readers may look
}

// namesText is how much room the text of names gets at once, in bytes; few names get less.
const namesText = 64 << 10

// NewNames makes an empty set.
func NewNames() *Names { return &Names{seed: maphash.MakeSeed()} }

// Name is the name of a number that the set gave.
func (n *Names) Name(number uint32) string { return (*n.shown.Load())[number] }

// Len is how many names there are; their numbers are below it.
func (n *Names) Len() int {
	if all := n.shown.Load(); all != nil {
		return len(*all)
	}
	return 0
}

// Find gives the number of a name; false where the set does not have it.
func (n *Names) Find(name string) (uint32, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.slots) == 0 {
		return 0, false
	}
	number := n.slots[n.slot(name)]
	return number - 1, number > 0
}

// Add gives the number of a name, a new one where it has none.
func (n *Names) Add(name string) (number uint32) {
	n.fill(func(add func(string, bool) uint32) { number = add(name, true) })
	return number
}

// fill lets f add names. clone: the set keeps a copy of the text, so that what the name was cut
// from can go.
func (n *Names) fill(f func(add func(name string, clone bool) uint32)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.all)
	f(n.add)
	if len(n.all) != before {
		all := n.all
		n.shown.Store(&all)
	}
}

func (n *Names) add(name string, clone bool) uint32 {
	if 8*(len(n.all)+1) > 7*len(n.slots) {
		n.slots = make([]uint32, max(16, 2*len(n.slots)))
		for i, s := range n.all {
			n.slots[n.slot(s)] = uint32(i) + 1
		}
	}
	at := n.slot(name)
	if n.slots[at] == 0 {
		if clone {
			name = n.clone(name)
		}
		n.all = append(n.all, name)
		n.slots[at] = uint32(len(n.all))
	}
	return n.slots[at] - 1
}

// slot is where a name is in slots, or where it belongs.
func (n *Names) slot(name string) int {
	mask := len(n.slots) - 1
	at := int(maphash.String(n.seed, name)) & mask
	for n.slots[at] != 0 && n.all[n.slots[at]-1] != name {
		at = (at + 1) & mask
	}
	return at
}

// clone copies a name into text, of which it never moves what is there.
func (n *Names) clone(name string) string {
	if n.text.Cap()-n.text.Len() < len(name) {
		n.text = strings.Builder{}
		n.text.Grow(max(len(name), min(namesText, 1024+32*len(n.all))))
	}
	start := n.text.Len()
	n.text.WriteString(name)
	return n.text.String()[start:]
}

// numbered gives values numbers in the order in which they first come; the zero value has 0.
type numbered[T comparable] struct {
	list   []T
	number map[T]uint32
}

func newNumbered[T comparable]() *numbered[T] {
	var zero T
	return &numbered[T]{list: []T{zero}, number: map[T]uint32{zero: 0}}
}

func (n *numbered[T]) of(value T) uint32 {
	number, ok := n.number[value]
	if !ok {
		number = uint32(len(n.list))
		n.number[value], n.list = number, append(n.list, value)
	}
	return number
}
