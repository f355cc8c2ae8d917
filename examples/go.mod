module github.com/weftgo/weft/examples

go 1.25.0

require (
	github.com/weftgo/weft v0.0.0
	github.com/weftgo/weft/ext/model/openai v0.0.0
)

replace (
	github.com/weftgo/weft => ../
	github.com/weftgo/weft/ext/model/openai => ../ext/model/openai
)
