// Package conformance reads one real package of each kind of archive, fetched from its registry or
// made by the format's own tool from real files, and holds the objects that compat finds against
// those that libarchive extracts. It needs the registries and the tools that its cases name, so it
// runs only when asked for: make conformance.
package conformance
