// Package runs has the nouns of a run: what a store knows of one ([Info], [Status], [Question], [Reply], [Usage]), how it is made
// ([Spec]), held ([Lease]) and given back ([Settlement]), the store of runs itself ([Store]), and its errors.
//
// An application meets them where it lists runs, answers their questions, or stops them; the author of a store implements
// [Store]. A run is executed by a Runner of package adk, or by the workers of adk/dispatch.
//
// All times are of the clock of the store. IDs may be any text.
package runs
