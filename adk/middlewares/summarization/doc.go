// Package summarization replaces a history that has grown too long by a summary of it.
//
// The middleware of [New] counts before each turn of the model. When there is more than the trigger allows, it has a
// model write a summary, puts the user's own words back into it, and continues with the system messages and one user
// message that holds the summary. [TypedConfig.Finalize] makes something else of the summary; [NewFinalizer] builds a
// finalizer that also keeps the skills that were loaded.
//
// Package reduction is the cheaper first measure: it takes old results of tools out and needs no model. The two work
// well together.
package summarization
