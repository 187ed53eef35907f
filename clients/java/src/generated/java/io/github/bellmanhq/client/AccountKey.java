// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AccountKey, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param added see the API
 * @param field private_key, platform_keys.ID, …
 * @param lastFour Empty of a key in PEM, and of one so short that this would reveal too much of it.
 * @param masterKey Id of the master key that seals it.
 * @param until End of its validity: when a certificate expires, or the overlap of a former key ends; null: no end.
 */
public record AccountKey(
        Instant added,
        String field,
        String lastFour,
        String masterKey,
        Instant until) {
    static AccountKey of(Object json) {
        var r = Shape.Reader.of("AccountKey", json);
        return new AccountKey(
                r.time("added"),
                r.text("field"),
                r.text("last_four"),
                r.text("master_key"),
                r.time("until"));
    }
}
