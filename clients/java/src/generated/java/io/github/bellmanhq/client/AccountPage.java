// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AccountPage, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param accounts see the API
 * @param nextCursor Cursor of the next page; empty only at the end.
 */
public record AccountPage(
        List<Account> accounts,
        String nextCursor) {
    static AccountPage of(Object json) {
        var r = Shape.Reader.of("AccountPage", json);
        return new AccountPage(
                r.list("accounts", Account::of),
                r.text("next_cursor"));
    }
}
