// Package kit is what the model adapters under ext/model share: HTTP with retries and limits, event streams, errors of
// one type, the origin of opaque data, and the shells that make a model out of a provider's engine.
//
// It knows no provider. An adapter implements [Engine] for one kind of message, on top of a [Client]; [Model] makes a
// model of it, and [ChatOf] or [BlocksOf] the model for the other kind of message.
//
// Applications need of it what looks at answers and errors: [APIError] and its kinds, [Finish], [IsEmpty],
// [IsRetryable]. The rest is for adapters, and may change before version 1.
package kit
