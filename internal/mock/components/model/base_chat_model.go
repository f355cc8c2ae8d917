package model

import "github.com/weftgo/weft/components/model"

//go:generate env GOWORK=off go tool -modfile=../../../../tools/go.mod mockgen -destination=base_chat_model_mock.go -package=model -mock_names=baseChatModel=MockBaseChatModel . baseChatModel

// baseChatModel is model.BaseChatModel for mockgen, which takes the alias for the generic interface behind it.
type baseChatModel interface{ model.BaseChatModel }
