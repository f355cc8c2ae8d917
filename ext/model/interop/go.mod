module github.com/weftgo/weft/ext/model/interop

go 1.26.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/weftgo/weft v0.0.0
	github.com/weftgo/weft/ext/model/anthropic v0.0.0
	github.com/weftgo/weft/ext/model/gemini v0.0.0
	github.com/weftgo/weft/ext/model/kit v0.0.0
	github.com/weftgo/weft/ext/model/kit/kittest v0.0.0
	github.com/weftgo/weft/ext/model/openai v0.0.0
	go.uber.org/goleak v1.3.0
)

replace (
	github.com/weftgo/weft => ../../..
	github.com/weftgo/weft/ext/model/anthropic => ../anthropic
	github.com/weftgo/weft/ext/model/gemini => ../gemini
	github.com/weftgo/weft/ext/model/kit => ../kit
	github.com/weftgo/weft/ext/model/kit/kittest => ../kit/kittest
	github.com/weftgo/weft/ext/model/openai => ../openai
)
