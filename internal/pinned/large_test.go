package pinned

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/internal/index"
)

// largeOpener is an index in which torch and two CUDA packages are large wheels, of this many bytes.
// It records the large wheels that were opened.
type largeOpener struct {
	sizes  map[string]int64
	known  bool // they are those of the built-in history
	opened *[]string
}

func (o largeOpener) Open(
	ctx context.Context,
	name, version string,
	on packages.Target,
	limit int64,
) (*index.Wheel, error) {
	file := name + "-" + version + "-py3-none-manylinux_2_17_x86_64.whl"
	size, large := o.sizes[name]
	if !large {
		return &index.Wheel{File: file, Recorded: true}, nil
	}
	if size > limit {
		e := &index.TooLargeError{File: file, Packed: size}
		if o.known {
			r, err := packages.History().Release(ctx, name, version, on)
			if err != nil {
				return nil, err
			}
			e.Known = r
		}
		return nil, e
	}
	*o.opened = append(*o.opened, name)
	return &index.Wheel{ReaderAt: strings.NewReader(""), File: file, Size: size}, nil
}

func TestOpenLarge(t *testing.T) {
	ctx := t.Context()
	on := packages.Target{Python: "3.11", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.28"}
	torch, err := packages.History().Release(ctx, "torch", "2.5.1", on)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{
		"torch": 800 << 20, "nvidia-cudnn-cu12": 600 << 20, "nvidia-cusparse-cu12": 200 << 20,
	}
	for _, c := range []struct {
		name    string
		pins    map[string]string // other versions than torch requires
		without string            // a package that is not pinned
		unknown bool
		budget  int64
		opened  []string
		unread  string
	}{
		{name: "as published"},
		{name: "a version with another zero", pins: map[string]string{"nvidia-nccl-cu12": "2.21.5.0"}},
		{
			name: "a library of one of them",
			pins: map[string]string{"nvidia-nvjitlink-cu12": "12.1.105"},
			// torch and cuDNN do not need it themselves
			opened: []string{"nvidia-cusparse-cu12"},
		},
		{
			name:   "a library of torch",
			pins:   map[string]string{"nvidia-nccl-cu12": "2.18.1"},
			opened: []string{"torch"},
		},
		{name: "a library is missing", without: "nvidia-nccl-cu12", opened: []string{"torch"}},
		{name: "without libraries", pins: map[string]string{"sympy": "1.13.3"}},
		// cuDNN needs no other package
		{name: "without torch", without: "torch", opened: []string{"nvidia-cusparse-cu12"}},
		{
			name: "other files", unknown: true,
			opened: []string{"nvidia-cusparse-cu12", "nvidia-cudnn-cu12", "torch"},
		},
		{
			name: "beyond the budget", unknown: true, budget: 1000 << 20,
			opened: []string{"nvidia-cusparse-cu12", "nvidia-cudnn-cu12"},
			unread: "torch==2.5.1 requirements.txt:1: the limit of 1000 MB for all wheels together was " +
				"reached",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Pinned{On: on, Budget: c.budget}
			add := func(r string) {
				if name, _, _ := strings.Cut(r, "=="); name != c.without {
					p.Pins = append(p.Pins, Pin{
						Pin: lockfile.Pin{Requirement: r, Line: len(p.Pins) + 1}, File: "requirements.txt",
					})
				}
			}
			add("torch==2.5.1")
			for _, q := range torch.Requires {
				version, ok := strings.CutPrefix(q.Spec, "==")
				if other := c.pins[q.Name]; other != "" {
					version = other
				}
				if ok && !strings.Contains(q.Marker, "extra") {
					add(q.Name + "==" + version)
				}
			}
			var opened []string
			w, err := p.Open(ctx, largeOpener{sizes, !c.unknown, &opened})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if !slices.Equal(opened, c.opened) {
				t.Errorf("opened %q, want %q", opened, c.opened)
			}
			var unread []string
			for _, u := range w.Unread {
				unread = append(unread, u.Path+" "+u.Reason)
			}
			if got := strings.Join(unread, ", "); got != c.unread {
				t.Errorf("unread %q, want %q", got, c.unread)
			}
			note := "published with, so not read"
			all := strings.Join(w.Notes, "; ")
			if strings.Contains(all, note) == c.unknown {
				t.Errorf("notes %q", w.Notes)
			}
		})
	}
}
