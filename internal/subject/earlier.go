package subject

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
)

// nameBase sets the artifacts of the base and their name in options.
func (a *analysis) nameBase(o *analyzer.Options, base []analyzer.Input) {
	o.Base, o.BaseName, o.ABI.Version = base, a.base, a.tag
	o.OptionalBase = true // a pull request can repair what its base damaged
	if a.before != nil && len(base) > 0 {
		o.BaseName, o.BaseVersion, o.BaseRelease = a.before(), a.before(), true
	}
}

// earlier adds the other earlier builds of the configuration: the newest release, and baseline
// files. Baselines and .abignore files are read from the base branch, so that a pull request
// cannot change them for its own check. notes report what does not exist.
func (a *analysis) earlier(
	ctx context.Context,
	c *config.Repository,
	o *analyzer.Options,
) (notes []string, done func(), _ error) {
	done = func() {}
	ref := cmp.Or(a.base, a.repo.DefaultBranch)
	paths, required := c.ABI.Suppressions()
	for _, path := range paths {
		text, there, err := a.repo.Content(ctx, ref, path)
		switch {
		case err != nil:
			return nil, done, fmt.Errorf("read %s: %w", path, err)
		case there:
			o.ABI.Suppress = append(o.ABI.Suppress, []byte(text))
		case required:
			notes = append(notes, fmt.Sprintf("abi.suppress: %s does not exist on %s", path, ref))
		}
	}
	for _, path := range c.ABI.Baselines() {
		text, there, err := a.repo.Baseline(ctx, ref, path)
		if err != nil {
			return nil, done, fmt.Errorf("read %s: %w", path, err)
		}
		if !there {
			notes = append(notes, fmt.Sprintf(
				"The ABI was not compared with %s: %s does not have the file, or it is larger than "+
					"32 MiB.", path, ref,
			))
			continue
		}
		o.Earlier = append(o.Earlier, analyzer.Earlier{Name: path, Baseline: []byte(text)})
	}
	if a.tag != "" || !slices.Contains(c.ABI.Against, config.AgainstRelease) {
		return notes, done, nil // a release is compared with the previous release
	}
	newest, err := a.repo.Client.ReleaseBefore(
		ctx, a.repo.Owner, a.repo.Name, &github.Release{Draft: true},
	)
	if err != nil {
		return notes, done, a.bearable(ctx, err)
	}
	const none = "The ABI was not compared with the last release: "
	if newest == nil {
		return append(notes, none+"there is none."), done, nil
	}
	found, err := a.Fetcher.Release(ctx, a.repo.Client, a.repo.Owner, a.repo.Name, newest.ID)
	if err != nil {
		return notes, done, a.bearable(ctx, err)
	}
	if found.State != artifact.Ready {
		return append(notes, none+found.Reason), done, nil
	}
	set, err := a.download(ctx, found)
	if err != nil {
		return notes, done, a.bearable(ctx, err)
	}
	inputs, closeFiles, err := open(set)
	if err != nil {
		set.Close()
		return notes, done, err
	}
	done = func() { closeFiles(); set.Close() }
	o.Earlier = append(o.Earlier, analyzer.Earlier{
		Name:    newest.Tag,
		Version: newest.Tag,
		Release: true,
		Inputs:  inputs,
	})
	return notes, done, nil
}
