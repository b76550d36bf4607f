package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/factstore"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/pinned"
	"github.com/compat-app/compat/internal/spool"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// openFacts opens the facts store that --facts or COMPAT_FACTS names; nil = there is none.
func openFacts(env environment, named string) (*factstore.Store, error) {
	variable, _ := env.Getenv("COMPAT_FACTS")
	keys, _ := env.Getenv("COMPAT_FACTS_KEY")
	address := cmp.Or(named, variable)
	if address == "" {
		return nil, nil
	}
	s, err := factstore.Open(address, keys, env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("facts store: %w", err)
	}
	return s, nil
}

// factsFlag adds the flag for the facts store.
func factsFlag(flags *pflag.FlagSet, f *checkFlags) {
	flags.StringVar(&f.facts, "facts", "",
		"folder or address of a facts store, so that the wheels in it need not be downloaded "+
			"(default: COMPAT_FACTS); COMPAT_FACTS_KEY is the public key of its entries")
}

// addFacts are the flags of `compat facts add`.
type addFacts struct {
	checkFlags
	to, key, python string
	again           bool
}

func newFactsAddCommand(env environment) *cobra.Command {
	var f addFacts
	c := &cobra.Command{
		Use:   "add [flags] [FILE.whl | pypi:NAME[==VERSION]]...",
		Short: "Add facts about wheels to a facts store",
		Long: `Read wheels and add their facts to a facts store, so that 'compat env' and 'compat check'
need not download them. Wheels from the package index are downloaded completely and compared with
the digest that the index lists; pypi:NAME without a version is the newest release. A wheel whose
facts are already in the store is not read again, and a wheel without native code is left out.

Exit code: 0 the store has facts of all wheels with native code, 2 some are missing.`,
		Example: `  compat facts add --to facts/ --key facts.pem -r requirements.txt --platform debian12
  compat facts add --to facts/ --key facts.pem --python 3.12 pypi:torch==2.7.0
  compat facts add --to facts/ dist/*.whl`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), env, args)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.to, "to", "",
		"folder or address of the store (default: COMPAT_FACTS)")
	flags.StringVar(&f.key, "key", "",
		"file with the private key that signs the entries, see 'compat facts key'; without one they "+
			"can only be used in a folder")
	flags.StringArrayVarP(&f.requirements, "requirement", "r", nil,
		"a lock or requirements file, whose pins are added; repeatable")
	flags.StringVar(&f.python, "python", "",
		"version of the interpreter (default: that of the file, else "+pinned.DefaultPython+")")
	flags.Var((*nameList)(&f.platforms), "platform",
		"a system whose wheels are added (default: "+defaultPlatform+"); repeatable")
	flags.StringArrayVar(&f.index, "index-url", nil,
		"package index (default: as for compat env); repeatable")
	flags.BoolVar(&f.again, "again", false, "read wheels whose facts are in the store again")
	return c
}

func newFactsKeyCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Print the public key of a private key (PEM); the file is created if it does not exist",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := factstore.MakeKey(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.Out, factstore.PublicKey(key))
			return err
		},
	}
}

// adding writes to a store.
type adding struct {
	env    environment
	store  *factstore.Store
	key    ed25519.PrivateKey // nil = entries are not signed
	from   *packageSource     // nil = no wheels of an index are named
	again  bool
	failed bool
}

func (f *addFacts) run(ctx context.Context, env environment, args []string) error {
	if len(args)+len(f.requirements) == 0 {
		return errors.New("nothing to add; give wheels, pypi:NAME==VERSION, or a file with -r")
	}
	a := &adding{env: env, again: f.again}
	getenv := func(name string) string { v, _ := env.Getenv(name); return v }
	to := cmp.Or(f.to, getenv("COMPAT_FACTS"))
	if to == "" {
		return errors.New("name the store with --to or COMPAT_FACTS")
	}
	keys := getenv("COMPAT_FACTS_KEY")
	if file := f.key; file != "" {
		var err error
		if a.key, err = factstore.LoadKey(file); err != nil {
			return err
		}
		keys = factstore.PublicKey(a.key)
	} else if strings.Contains(to, "://") && !strings.HasPrefix(to, "file:") {
		return fmt.Errorf("%s is not a folder of this machine, so its entries have to be signed; "+
			"give --key", to)
	}
	var err error
	if a.store, err = factstore.Open(to, keys, env.Getenv); err != nil {
		return fmt.Errorf("facts store: %w", err)
	}
	if len(f.platforms) == 0 {
		f.platforms = []string{defaultPlatform}
	}
	if err := a.all(ctx, f, args); err != nil {
		return err
	}
	if note := a.store.Note(); note != "" {
		fmt.Fprintln(env.Err, note)
	}
	if a.failed {
		return exit{code: exitUsage}
	}
	return nil
}

// all adds what the command line names.
func (a *adding) all(ctx context.Context, f *addFacts, args []string) error {
	releases := map[packages.Target][]string{} // NAME==VERSION
	for _, name := range f.platforms {
		p, err := platform.Named(name, "x86_64")
		if err != nil {
			return err
		}
		on := packages.On(p, cmp.Or(f.python, pinned.DefaultPython))
		for _, arg := range args {
			if id, ok := strings.CutPrefix(arg, fromIndex); ok {
				releases[on] = append(releases[on], id)
			}
		}
		if len(f.requirements) > 0 {
			files := pinnedIn(f.requirements...)
			e, err := files.Pinned(packages.On(p, f.python))
			if err != nil {
				return unusable(err)
			}
			for _, pin := range e.Pins {
				if q, err := pkgmeta.ParseRequirement(pin.Requirement); err == nil { // without extras
					releases[e.On] = append(releases[e.On], q.Name+q.Spec)
				}
			}
		}
	}
	if len(releases) > 0 {
		var err error
		if a.from, err = openPackages(a.env, f.index, "", true, false); err != nil {
			return err
		}
	}
	for on, ids := range releases {
		for _, id := range slices.Compact(ids) {
			if err := a.release(ctx, id, on); err != nil {
				return err
			}
		}
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, fromIndex) {
			continue
		}
		if err := a.file(ctx, arg); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// release adds the wheel of a release that pip would install.
func (a *adding) release(ctx context.Context, id string, on packages.Target) error {
	q, err := a.from.release(id)
	if err != nil {
		return a.skip(id, err)
	}
	version, err := a.from.newest(ctx, q, on)
	if err != nil {
		return a.skip(id, err)
	}
	w, err := a.from.Indexes.Which(ctx, q.Name, version, on)
	var none *index.NoWheelError
	switch {
	case errors.As(err, &none): // nothing to read
		_, err := fmt.Fprintf(a.env.Out, "%s: %v\n", id, none)
		return err
	case err != nil:
		return a.skip(id, err)
	case w.Pure:
		return nil
	case w.SHA256 == "":
		return a.skip(id, errors.New("the index has no SHA-256 of its wheel"))
	case a.has(ctx, w.File, w.SHA256):
		return nil
	}
	if w, err = a.from.Indexes.Download(ctx, q.Name, version, on, maxInput); err != nil {
		return a.skip(id, err)
	}
	defer w.Close()
	return a.wheel(ctx, w)
}

// file adds a wheel of this machine.
func (a *adding) file(ctx context.Context, name string) error {
	f, err := openInput(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	w := &index.Wheel{
		ReaderAt: f, File: filepath.Base(name), Size: size, SHA256: hex.EncodeToString(sum.Sum(nil)),
	}
	if a.has(ctx, w.File, w.SHA256) {
		return nil
	}
	return a.wheel(ctx, w)
}

// has reports whether the store has the facts of a wheel, and prints that.
func (a *adding) has(ctx context.Context, name, sum string) bool {
	if a.again || a.store.Get(ctx, sum) == nil {
		return false
	}
	fmt.Fprintf(a.env.Out, "%s: is in the store\n", name)
	return true
}

// wheel reads a wheel, and writes its facts to the store.
func (a *adding) wheel(ctx context.Context, w *index.Wheel) error {
	found, err := factsOf(ctx, w)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return a.skip(w.File, err)
	}
	if err := a.store.Put(ctx, w.SHA256, found, a.key); err != nil {
		return fmt.Errorf("write to the facts store: %w", err)
	}
	_, err = fmt.Fprintf(a.env.Out, "%s: added %.1f kB\n", w.File, float64(len(found))/1e3)
	return err
}

// factsOf reads the facts of a wheel that compat env would read of it.
func factsOf(ctx context.Context, w *index.Wheel) ([]byte, error) {
	part, size, err := index.Part(w.File, w, w.Size)
	if err != nil {
		return nil, err
	}
	in := analyzer.Input{Name: w.File, Content: part, Size: size, SHA256: w.SHA256}
	names := elfobj.NewNames()
	set, err := facts.Read(ctx, []facts.Input{in}, facts.Options{Scratch: spool.In("")}, names)
	if err != nil {
		return nil, err
	}
	return facts.Encode(set, names)
}

// skip reports a wheel that was not added.
func (a *adding) skip(name string, err error) error {
	a.failed = true
	_, failed := fmt.Fprintf(a.env.Err, "%s: not added: %v\n", name, err)
	return failed
}
