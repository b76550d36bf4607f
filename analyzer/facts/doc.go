// Package facts reads artifacts: it opens archives and parses objects and metadata. It draws no
// conclusions.
//
//	set, err := facts.Read(ctx, inputs, facts.Options{}, elfobj.NewNames())
//	for _, a := range set.Artifacts { … a.Objects, a.Metadata … }
//
// The main type is Artifact: a wheel, another archive or a single file, with its Objects.
//
// All input is untrusted. Archives are limited by unpack.Limits, objects by the size of their
// file (elfobj), metadata by maxMetadata and maxRecord. Set.Unread lists files that could not
// be read, and Set.Skipped files that compat does not check. The package opens no files and
// executes nothing.
package facts
