// Package conformance reads one real package of each kind of archive, downloaded from its registry
// or made by the format's own tool from real files, and compares the objects that compat finds with
// those that libarchive extracts. It needs the registries and the tools that its cases name, so it
// runs only with make conformance.
package conformance
