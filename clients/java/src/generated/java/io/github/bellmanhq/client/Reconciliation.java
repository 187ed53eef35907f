// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Reconciliation, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param account The registered account that was asked for; empty: all accounts of the queue, or for a file that of orders that name none.
 * @param bill trade, fund_flow.
 * @param bills Accounts whose bill was compared.
 * @param compared Orders and refunds that were compared.
 * @param created Time of the newest request.
 * @param daily The queue's daily job started it.
 * @param date see the API
 * @param deferred Orders and refunds of the last hour that the bill lacks. The comparison of the next day looks for them in both bills.
 * @param differences see the API
 * @param edge Differences near midnight, whose orders may be in the bill of the next or previous day.
 * @param finished Time of the newest result; null: there is none.
 * @param id The same for the same queue, account, bill, date and source: a new request replaces the result.
 * @param kept Differences that can be read, at most 100000. The numbers above are exact beyond that.
 * @param left Accounts with orders that are not compared, and why. The result is without these orders.
 * @param matched Lines of the bill that agree with bellman.
 * @param next When the bill is asked for again; null: it is not.
 * @param noRefunds see the API
 * @param others Lines of other merchants in the bill, such as a service provider's other sub-merchants. They were left out.
 * @param payments Payments in the bill.
 * @param queue see the API
 * @param reason see the API
 * @param refunds Refunds in the bill.
 * @param settling null: nobody has requested that the channel is asked about each difference.
 * @param source channel, file.
 * @param state waiting: for its turn, or for the bill. failed: a bill could not be had, or orders could not be compared.
 * @param total Number of differences.
 * @param tries Failed tries since created.
 * @param who see the API
 * @param error Error of the last try.
 */
public record Reconciliation(
        String account,
        BillKind bill,
        int bills,
        int compared,
        Instant created,
        boolean daily,
        String date,
        int deferred,
        DifferencesByKind differences,
        int edge,
        Instant finished,
        String id,
        int kept,
        List<AccountLeft> left,
        int matched,
        Instant next,
        boolean noRefunds,
        int others,
        int payments,
        String queue,
        String reason,
        int refunds,
        Settling settling,
        BillSource source,
        ReconciliationState state,
        int total,
        int tries,
        String who,
        String error) {
    static Reconciliation of(Object json) {
        var r = Shape.Reader.of("Reconciliation", json);
        return new Reconciliation(
                r.text("account"),
                r.shape("bill", BillKind::of),
                r.int32("bills", 0),
                r.int32("compared", 0),
                r.time("created"),
                r.bool("daily", false),
                r.text("date"),
                r.int32("deferred", 0),
                r.shape("differences", DifferencesByKind::of),
                r.int32("edge", 0),
                r.time("finished"),
                r.text("id"),
                r.int32("kept", 0),
                r.list("left", AccountLeft::of),
                r.int32("matched", 0),
                r.time("next"),
                r.bool("no_refunds", false),
                r.int32("others", 0),
                r.int32("payments", 0),
                r.text("queue"),
                r.text("reason"),
                r.int32("refunds", 0),
                r.shape("settling", Settling::of),
                r.shape("source", BillSource::of),
                r.shape("state", ReconciliationState::of),
                r.int32("total", 0),
                r.int32("tries", 0),
                r.text("who"),
                r.text("error"));
    }
}
