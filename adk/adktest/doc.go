// Package adktest helps to test agents: models and tools that follow a script, and events in a form that can be
// compared. A test reads as a story:
//
//	func TestUmbrella(t *testing.T) {
//		weather := adktest.NewTool("weather", adktest.Says("sunny"))
//		model := adktest.NewModel(t,
//			adktest.Calls(adktest.Call("weather", `{"city":"Lisbon"}`)),
//			adktest.Says("No umbrella today.").Seeing(
//				"user: Do I need an umbrella?",
//				`assistant: [weather#call_1 {"city":"Lisbon"}]`,
//				"tool weather#call_1: sunny"),
//		)
//		agent := myagent.New(model, weather)
//		adktest.Ask(t.Context(), t, agent, "Do I need an umbrella?").ExpectText("No umbrella today.")
//	}
//
// An [Answer] says what a model or a tool does when it is called: answer, stream, wait, fail, break off, panic. Messages
// are compared as lines of a transcript, see [Line]. Everything works for both kinds of message: what is of no kind by
// itself has a name with Typed or a type parameter.
//
// What goes wrong is reported with Errorf, from whatever goroutine it happens in; nothing ends the test's goroutine,
// and what happens after the test has ended is not reported. Waits are timers and contexts only, so all of it works in
// the bubbles of testing/synctest, where a test of a slow model takes no time.
package adktest

// TB has the methods of a [testing.TB] that are used.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}
