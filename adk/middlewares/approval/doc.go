// Package approval asks before tools run.
//
// The middleware of [New] interrupts a run before each call of a chosen tool. The interrupt's info is a [*Request]; the
// application shows it to the person who may decide, and resumes the run with the [*Decision] that the request makes:
//
//	request := interruptContext.Info.(*approval.Request)
//	runner.ResumeWithParams(ctx, id, &adk.ResumeParams{Targets: map[string]any{interruptContext.ID: request.Approve()}})
//
// A decision is for exactly one request: it carries a hash of the tool, the arguments, the place in the run and a
// secret of that request's own, which is saved with the run. What does not fit, comes too late or was used before is
// refused, and the question is asked again. The call runs with the arguments that were shown, or with those that the
// decision has in their place.
package approval
