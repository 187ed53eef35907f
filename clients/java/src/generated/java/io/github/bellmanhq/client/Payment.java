// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Payment, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param amount In the smallest unit of its currency.
 * @param currency ISO 4217.
 * @param paidAt see the API
 * @param transactionId The channel's number of the payment.
 */
public record Payment(
        Long amount,
        String currency,
        Instant paidAt,
        String transactionId) {
    static Payment of(Object json) {
        var r = Shape.Reader.of("Payment", json);
        return new Payment(
                r.int64("amount"),
                r.text("currency"),
                r.time("paid_at"),
                r.text("transaction_id"));
    }
}
