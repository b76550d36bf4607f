// Package facts reads artifacts: archives are opened, objects and metadata are parsed, and nothing
// is concluded yet.
//
//	set, err := facts.Read(ctx, inputs, facts.Options{}, elfobj.NewNames())
//	for _, a := range set.Artifacts { … a.Objects, a.Metadata … }
//
// The main type is Artifact: a wheel, another archive or a loose file, with its Objects.
//
// Every byte is untrusted. Archives are bounded by unpack.Limits, objects by the size of their file
// (elfobj), metadata by maxMetadata and maxRecord. What could not be read is listed in Set.Unread,
// and what compat does not check in Set.Skipped; nothing is dropped silently. The package opens no
// file by itself and runs nothing.
package facts
