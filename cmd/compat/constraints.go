package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

func newConstraintsCommand(env environment) *cobra.Command {
	var f impactFlags
	var known bool
	c := &cobra.Command{
		Use:   "constraints [flags] {--requirement FILE | --known}",
		Short: "Write constraints that exclude versions which do not load together",
		Long: `Write a constraints file for pip and uv. With it, the requirements in a file resolve to versions
whose native code loads together. It excludes only versions that were found not to work with another
package. If the versions that pip would choose load together, the file is empty.

compat resolves the requirements as pip does and checks each of the named packages with the others.
If two do not work together, it tries older versions of the second. Pairs that are known not to work
(in the built-in package history) are excluded without being downloaded. Nothing is installed and
nothing is run.

With --known, the command writes these known pairs, which failed when they were imported together:
the error, a release of the second package that works, and the command that checks the pair again.

Exit code: 0 written, also if the file is empty; 2 could not check or wrong usage.`,
		Example: `  compat constraints --requirement requirements.in > constraints.txt
  uv pip compile --constraint constraints.txt requirements.in
  compat constraints --known > pairs.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%q is not a flag; give the file with --requirement %s", args[0], args[0])
			}
			if known != (len(f.requirements) == 0) {
				return errors.New("give a file with --requirement, or --known; " +
					"see 'compat constraints --help'")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if known {
				return writeKnown(env.Out)
			}
			return writeConstraints(c.Context(), env, f)
		},
	}
	c.Flags().StringArrayVarP(&f.requirements, "requirement", "r", nil,
		"a requirements file, with the files that it includes; repeatable")
	c.Flags().BoolVar(&known, "known", false,
		"write the pairs that compat knows not to work, as advisories in OSV's format, one on each line")
	installFlags(c.Flags(), &f)
	return c
}

// writeKnown writes an advisory on each line.
func writeKnown(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, k := range packages.History().KnownBad() {
		if err := e.Encode(k.Advisory()); err != nil {
			return err
		}
	}
	return nil
}

func writeConstraints(ctx context.Context, env environment, f impactFlags) error {
	r, err := newReleases(env, &f)
	if err != nil {
		return err
	}
	if len(r.from.names) == 0 {
		return noIndex(env, "versions are looked up in a package index, and none is configured")
	}
	defer r.close()
	shown := startProgress(env, f.quiet)
	defer shown.stop()
	files := pinnedIn(f.requirements...)
	read, err := files.Pinned(r.on)
	if err != nil {
		return unusable(err)
	}
	var wanted []pkgmeta.Requirement
	for _, p := range append(read.Pins, read.Unpinned...) {
		q, err := pkgmeta.ParseRequirement(p.Requirement)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
		}
		wanted = append(wanted, q)
	}
	found, err := r.question(&f, shown.set).Constrain(ctx, wanted, shelf{r})
	shown.stop()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range found {
		fmt.Fprintf(&b, "# %s\n%s\n", c.Because, c.Requirement)
	}
	_, err = fmt.Fprint(env.Out, b.String())
	return err
}

// shelf opens the releases of packages.
type shelf struct{ *releases }

// Release implements impact.Shelf.
func (s shelf) Release(ctx context.Context, id packages.ID) (*impact.Release, error) {
	return s.published(ctx, id, analyzer.Options{Version: version()})
}

// Dependent implements impact.Shelf.
func (s shelf) Dependent(ctx context.Context, id packages.ID) (impact.Dependent, error) {
	return s.open(ctx, id, nil)
}
