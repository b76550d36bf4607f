package analyzer

import (
	"context"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/result"
)

// canCompare reports whether builds can be compared with an artifact. A pure Python wheel is the
// base of one with native code.
func canCompare(f *facts.Artifact) bool { return f.Wheel != nil || f.Binaries() > 0 }

// unreadEarlier returns the files of an earlier build that could not be read. The findings in them
// count as new, and the libraries in them were not compared.
func unreadEarlier(name string, unread []Unread) (out []Unread) {
	for _, u := range unread {
		out = append(out, Unread{
			Path: u.Path, Reason: "this file of " + name + " could not be read: " + u.Reason,
		})
	}
	return out
}

// earlier reads the earlier builds other than the base.
func (o *Options) earlier(ctx context.Context) (all []*judge.Earlier, unread []Unread, _ error) {
	if !o.compares() {
		return nil, nil, nil
	}
	for _, e := range o.Earlier {
		x := &judge.Earlier{Name: e.Name, Version: e.Version, Release: e.Release}
		if e.Baseline != nil {
			l, err := abi.ParseAny(e.Name, e.Baseline)
			if err != nil {
				unread = append(unread, Unread{
					Path: e.Name, Reason: "the ABI was not compared with it: " + err.Error(),
				})
				continue
			}
			x.Library = l
		} else {
			set, err := facts.Read(ctx, e.Inputs, o.reading(), elfobj.NewNames())
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", e.Name, err)
			}
			x.Artifacts = set.Artifacts
			unread = append(unread, unreadEarlier(e.Name, set.Unread)...)
		}
		all = append(all, x)
	}
	return all, unread, nil
}

// maxWarned limits the changes that a comparison in a report names.
const maxWarned = 3

// compared returns a comparison in the form of the report.
func compared(c *judge.Compared) result.ABI {
	r := c.Result
	var warned []string
	for i := range r.Changes {
		if x := &r.Changes[i]; x.Severity == abi.Warning && len(warned) < maxWarned {
			warned = append(warned, strings.TrimSpace(strings.TrimSuffix(x.Detail, x.Aside)))
		}
	}
	return result.ABI{
		Against:    c.Earlier.Name,
		Release:    c.Earlier.Release,
		Artifact:   c.Artifact.Path,
		Object:     c.Path,
		Library:    r.Library,
		NewSONAME:  r.NewSONAME,
		Verdict:    r.Verdict,
		Interfaces: r.Interfaces,
		Broken:     r.Broken,
		Changes:    len(r.Changes),
		Warnings:   r.Warnings(),
		Warned:     warned,
		Suppressed: c.Suppressed,
		Old:        result.ABISide{Evidence: r.Evidence.Old, Version: c.Old},
		New:        result.ABISide{Evidence: r.Evidence.New, Version: c.New},
		Blind:      c.Result.Blind,
		Problems:   r.Problems,

		PrivateTypes: r.PrivateTypes,
	}
}
