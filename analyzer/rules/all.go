// Package rules contains the rules of compat: one file and one folder testdata/<rule-id> per rule.
//
// To add a rule, write its file with a variable of type *analyzer.Rule, add it to All, and add one
// test case with a finding and one without. A rule reads the facts and the loads of one artifact
// and reports findings with candidates for fixes. It does not read files or query an index.
package rules

import "github.com/compat-app/compat/analyzer"

// All returns every rule, in the order in which they run.
func All() []*analyzer.Rule {
	return []*analyzer.Rule{
		noWheel,
		hashMismatch,
		requirementNotMet,
		brokenInstallation,
		fileConflict,
		symbolVersionTooNew,
		symbolMissingInPackage,
		symbolMissingInFolder,
		symbolsNotChecked,
		gpuStackMismatch,
		gpuArchMissing,
		cudaMajorMixed,
		libraryNotFound,
		undefinedSymbol,
		functionTypeMismatch,
		numpyABIMismatch,
		numpyNotDeclared,
		linkUndefinedReference,
		linkLibraryNotFound,
		linkHiddenSymbol,
		linkTLSMismatch,
		bundledLibraryNotReachable,
		dependencyLibraryNotReachable,
		versionNeedWithoutLibrary,
		relrWithoutVersion,
		executableStack,
		isaLevel,
		cppRuntimeTooOld,
		textRelocations,
		pageSize,
		wrongArchitecture,
		interpreterNotFound,
		extensionSuffix,
		pythonBuildMismatch,
		pythonLibraryMismatch,
		abi3Violation,
		metadataMismatch,
		recordMismatch,
		sbomMismatch,
		variantMismatch,
		duplicateLibrary,
		exportedRuntime,
		symbolInterposed,
		tagTooHigh,
		tagExcludesPlatform,
		cudaDriverMinimum,
		torchStableABI,
		exportedSymbolRemoved,
		symbolVersionRemoved,
		symbolVersionMoved,
		dataObjectChanged,
		symbolAddedToReleasedVersion,
		libraryRemoved,
		sonameChanged,
		signatureChanged,
		typeLayoutChanged,
		typeSizeChanged,
		libxml2Mismatch,
		vtableChanged,
		enumeratorChanged,
		callingConventionChanged,
		abiModeChanged,
		debianSymbols,
		openedByName,
		noSectionHeaders,
		minimumOSTooNew,
		unsignedCode,
		compatibilityVersionTooLow,
		supportRemoved,
	}
}

// IDs returns the ids of all rules, as the configuration uses them.
func IDs() []string {
	var ids []string
	for _, r := range All() {
		ids = append(ids, r.ID)
	}
	return ids
}
