package elfobj

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// Names assigns numbers to symbol names and stores each name once. The objects of a project
// share most of their names: of the 207,000 symbols in vtk's wheel only a third have a name
// that no other symbol has. It is safe for concurrent use.
type Names struct {
	mu   sync.Mutex
	seed maphash.Seed
	// Hash table with open addressing: number+1, or 0 if free. Its length is a power of two.
	slots []uint32
	all   []string // by number
	text  strings.Builder

	shown atomic.Pointer[[]string] // the part of all that readers may access without the mutex
}

// namesText is the largest block in which space for names is allocated, in bytes.
const namesText = 64 << 10

// NewNames returns an empty table.
func NewNames() *Names { return &Names{seed: maphash.MakeSeed()} }

// Name returns the name with a number that Find or Add returned.
func (n *Names) Name(number uint32) string { return (*n.shown.Load())[number] }

// Len returns the number of names. The numbers are 0 to Len()-1.
func (n *Names) Len() int {
	if all := n.shown.Load(); all != nil {
		return len(*all)
	}
	return 0
}

// Find returns the number of a name. ok is false if the table does not contain it.
func (n *Names) Find(name string) (number uint32, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.slots) == 0 {
		return 0, false
	}
	number = n.slots[n.slot(name)]
	return number - 1, number > 0
}

// Add returns the number of a name, and adds the name if it is new.
func (n *Names) Add(name string) (number uint32) {
	n.fill(func(add func(string, bool) uint32) { number = add(name, true) })
	return number
}

// fill calls f with a function that adds names. With clone, the table copies the text, so that
// the string that contains it can be freed.
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

// slot returns the index of a name in slots, or the free index where it is to be added.
func (n *Names) slot(name string) int {
	mask := len(n.slots) - 1
	at := int(maphash.String(n.seed, name)) & mask
	for n.slots[at] != 0 && n.all[n.slots[at]-1] != name {
		at = (at + 1) & mask
	}
	return at
}

// clone copies a name into text. A full block is replaced and never grows, because growing
// would copy it.
func (n *Names) clone(name string) string {
	if n.text.Cap()-n.text.Len() < len(name) {
		n.text = strings.Builder{}
		n.text.Grow(max(len(name), min(namesText, 1024+32*len(n.all))))
	}
	start := n.text.Len()
	n.text.WriteString(name)
	return n.text.String()[start:]
}

// numbered assigns numbers to values in order of first use. The zero value has number 0.
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
