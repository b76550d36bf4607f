package trial

import (
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// Elsewhere removes from the findings of an artifact the fixes that were verified on one of its
// targets and break something on another one: a library that is added to DT_NEEDED may not exist
// there. verifiers are those of the artifact. It takes a trial for each added library and target,
// within maxTrials; a fix that is not tried elsewhere remains. The error is that of the context or
// of a source.
func Elsewhere(verifiers []*Verifier, found []*result.Finding) error {
	if len(verifiers) < 2 {
		return nil
	}
	for _, f := range found {
		kept := make([]fix.Fix, 0, len(f.Fixes))
		for _, x := range f.Fixes {
			breaks, err := breaksElsewhere(verifiers, x)
			if err != nil {
				return err
			}
			if !breaks {
				kept = append(kept, x)
			}
		}
		f.Fixes = kept
	}
	return nil
}

func breaksElsewhere(verifiers []*Verifier, x fix.Fix) (bool, error) {
	if _, adds := x.Change.(fix.AddNeeded); !adds || !x.Verified {
		return false, nil
	}
	for _, v := range verifiers {
		w, err := v.tryFix(x.Change.Apply(v.base.Scenario))
		if err != nil {
			return false, err
		}
		if w != nil && (w.failed || w.breaks) {
			return true, nil
		}
	}
	return false, nil
}
