// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AccountLeft, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param account Empty: the queue's own.
 * @param error Why; only the first 100 accounts have it.
 */
public record AccountLeft(
        String account,
        String error) {
    static AccountLeft of(Object json) {
        var r = Shape.Reader.of("AccountLeft", json);
        return new AccountLeft(
                r.text("account"),
                r.text("error"));
    }
}
