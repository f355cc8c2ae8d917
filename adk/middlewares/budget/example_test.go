package budget_test

import (
	"errors"
	"fmt"

	"github.com/weftgo/weft/adk/middlewares/budget"
)

func ExampleAccount() {
	account := budget.NewAccount(budget.Limits{Tokens: 1000})
	account.Add(budget.Spent{ModelCalls: 3, Tokens: 1200}) // what runs below it do by themselves
	err := account.Exceeded()
	fmt.Println(err, errors.Is(err, budget.ErrExceeded))
	// Output: the budget is used up: tokens: 1200 of 1000 true
}
