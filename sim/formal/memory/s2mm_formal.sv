// s2mm writes each beat that it takes once, in order, and to its place. What goes into the two queues here are the
// beats and bursts that a packet's address and length ask for; what the memory takes must be they. A burst is offered
// when all of it is here, and then at once where the memory owes less than Outstanding answers. A packet is through
// when the memory has answered for its last burst, and has failed where it refused any of them.
module s2mm_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 64,
    parameter int unsigned AddrW = 16,
    parameter int unsigned Depth = 8,
    parameter int unsigned Outstanding = 4,
    parameter int unsigned MaxBurst = 4,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned BeatW = AddrW - $clog2(KeepW),
    localparam int unsigned PageW = 12 - $clog2(KeepW),
    localparam int unsigned MaxW = PageW < $clog2(MaxBurst) ? PageW : $clog2(MaxBurst),
    localparam int unsigned PtrW = $clog2(Depth),
    localparam int unsigned TurnW = $clog2(Outstanding),
    localparam int unsigned BurstW = 2 + 8 + BeatW
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic [  AddrW:0] s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input axi_write_request_t              m_axi_o,
    input axi_write_response_t             m_axi_i,
    input logic                [DataW-1:0] m_axi_wdata,
    input logic                [KeepW-1:0] m_axi_wstrb,

    input logic done_o,
    input logic failed_o,

    input logic [BeatW-1:0] address_q,
    input logic [ MaxW-1:0] before_q,
    input logic             first_q,
    input logic [   PtrW:0] whole_q,
    input logic             failed_q,

    // Bursts that wait, {spoiled, last, length, address}, and records of those that were asked for, {spoiled, last}
    input logic [BurstW-1:0] bursts        [Outstanding],
    input logic [   TurnW:0] bursts_write_q,
    input logic [   TurnW:0] bursts_read_q,
    input logic              bursts_ready,
    input logic [       1:0] records       [Outstanding],
    input logic [   TurnW:0] records_write_q,
    input logic [   TurnW:0] records_read_q,
    input logic              records_ready,

    input logic [DataW+KeepW:0] beats       [Depth],
    input logic [       PtrW:0] beats_write_q,
    input logic [       PtrW:0] beats_read_q,
    input logic                 beats_ready,
    input logic                 data_valid,
    input logic                 wlast
);

  localparam int unsigned PAGE = 4096 / KeepW;  // beats
  localparam int unsigned MOST = PAGE < MaxBurst ? PAGE : MaxBurst;
  localparam int unsigned BEATS_W = $clog2(Depth + 3);
  localparam int unsigned WAIT_W = $clog2(Outstanding + 2);
  localparam int unsigned ALL_W = $clog2(2 * Outstanding + 1);

  typedef logic [BeatW-1:0] beat_t;
  typedef logic [ALL_W-1:0] all_t;

  typedef struct packed {
    logic spoiled;
    logic last;     // of its packet
  } record_t;

  reset_rule u_reset (.*);

  // The stream: where each beat belongs, and which bursts are to be
  logic inside_q, taken, ends;
  beat_t next_q, place, start, start_q;  // of the next beat, of this one; of the first one of its burst
  logic [31:0] count_q;  // beats of its burst before it
  record_t record;

  assign taken = s_axis_tvalid && s_axis_tready;
  assign place = inside_q ? next_q : s_axis_tuser[AddrW-1-:BeatW];
  assign start = count_q == '0 ? place : start_q;
  assign ends  = s_axis_tlast || 32'(place) % MOST == MOST - 1;
  assign record = '{spoiled: s_axis_tuser[AddrW] && s_axis_tlast, last: s_axis_tlast};

  always_ff @(posedge clk) begin
    if (taken) begin
      inside_q <= !s_axis_tlast;
      next_q   <= place + 1'b1;
      start_q  <= start;
      count_q  <= ends ? '0 : count_q + 1'b1;
    end
    if (rst) begin
      inside_q <= 1'b0;
      count_q  <= '0;
    end
  end

  // Bursts, as they are asked for and as their data leave
  logic asked, sent, sent_last, answered, running_q, waited_q;
  logic [WAIT_W-1:0] waiting;  // bursts that were not asked for
  logic [BEATS_W-1:0] held;  // beats that have not left
  logic [31:0] whole_bursts_q;  // bursts all of which is here that have not left whole
  logic [31:0] burst;
  logic [63:0] address;

  assign asked = m_axi_o.awvalid && m_axi_i.awready;
  assign sent = m_axi_o.wvalid && m_axi_i.wready;
  assign sent_last = sent && m_axi_o.wlast;
  assign answered = m_axi_i.bvalid && m_axi_o.bready;
  assign burst = 32'(m_axi_o.awlen) + 1;
  assign address = m_axi_o.awaddr;

  // Records of the bursts that the memory has not answered, those that were not asked for included
  record_t recorded_q[2**ALL_W];
  all_t newest_q, oldest_q, all, owed;  // owed: asked for, not answered
  record_t oldest;
  logic bad_q, done_q, bad_done_q;

  assign all = newest_q - oldest_q;
  assign owed = all - all_t'(waiting);
  assign oldest = recorded_q[oldest_q];

  always_ff @(posedge clk) begin
    whole_bursts_q <= whole_bursts_q + 32'(taken && ends) - 32'(sent_last);
    if (sent) running_q <= !m_axi_o.wlast;
    waited_q <= whole_bursts_q != '0 && !m_axi_o.wvalid;
    if (taken && ends) recorded_q[newest_q] <= record;
    newest_q <= newest_q + all_t'(taken && ends);
    oldest_q <= oldest_q + all_t'(answered);
    if (answered) bad_q <= !oldest.last && (bad_q || m_axi_i.bresp != 2'b00);
    done_q <= answered && oldest.last;
    bad_done_q <= bad_q || m_axi_i.bresp != 2'b00 || oldest.spoiled;
    if (rst) begin
      whole_bursts_q <= '0;
      running_q <= 1'b0;
      waited_q <= 1'b0;
      newest_q <= '0;
      oldest_q <= '0;
      bad_q <= 1'b0;
      done_q <= 1'b0;
    end
  end

  // The memory answers a burst after it has taken its address and the last beat of its data.
  always_comb if (m_axi_i.bvalid) assume (owed != '0 && 32'(all) > whole_bursts_q);

  hold_rule #(
      .DataW(64 + 8)
  ) u_hold_address (
      .clk,
      .rst,
      .tdata_i ({m_axi_o.awaddr, m_axi_o.awlen}),
      .tvalid_i(m_axi_o.awvalid),
      .tready_i(m_axi_i.awready)
  );

  hold_rule #(
      .DataW(DataW + KeepW + 1)
  ) u_hold_data (
      .clk,
      .rst,
      .tdata_i ({m_axi_o.wlast, m_axi_wstrb, m_axi_wdata}),
      .tvalid_i(m_axi_o.wvalid),
      .tready_i(m_axi_i.wready)
  );

  // What is inside, oldest first
  logic [Outstanding-1:0][7+64:0] burst_items;
  logic [Outstanding-1:0][BurstW-1:0] waits;
  logic [Depth:0][DataW+KeepW:0] beat_items;
  logic [TurnW:0] n_bursts, n_records;
  logic [PtrW:0] behind;  // in block memory
  logic [31:0] n_beats;

  assign n_bursts = bursts_write_q - bursts_read_q;
  assign n_records = records_write_q - records_read_q;
  assign behind = beats_write_q - beats_read_q;
  assign n_beats = 32'(behind) + 32'(data_valid);

  always_comb begin
    for (int unsigned k = 0; k < Outstanding; k++) begin
      waits[k] = bursts[TurnW'(bursts_read_q + (TurnW + 1)'(k))];
      burst_items[k] = {waits[k][BeatW+:8], 64'(waits[k][BeatW-1:0]) << (AddrW - BeatW)};
    end
    beat_items[0] = data_valid ? {wlast, m_axi_wstrb, m_axi_wdata} : beats[beats_read_q[PtrW-1:0]];
    for (int unsigned k = 1; k <= Depth; k++) begin
      beat_items[k] = beats[PtrW'(beats_read_q + (PtrW + 1)'(k) - (PtrW + 1)'(data_valid))];
    end
  end

  queue_rule #(
      .DataW(8 + 64),
      .Depth(Outstanding)
  ) u_bursts_queue (
      .clk,
      .rst,
      .push_data_i({8'(count_q), 64'(start) << (AddrW - BeatW)}),
      .push_i     (taken && ends),
      .pop_data_i ({m_axi_o.awlen, m_axi_o.awaddr}),
      .pop_i      (asked),
      .count_o    (waiting),
      .held_i     (WAIT_W'(n_bursts)),
      .items_i    (burst_items)
  );

  queue_rule #(
      .DataW(1 + KeepW + DataW),
      .Depth(Depth + 1)
  ) u_beats_queue (
      .clk,
      .rst,
      .push_data_i({ends, s_axis_tkeep, s_axis_tdata}),
      .push_i     (taken),
      .pop_data_i ({m_axi_o.wlast, m_axi_wstrb, m_axi_wdata}),
      .pop_i      (sent),
      .count_o    (held),
      .held_i     (BEATS_W'(n_beats)),
      .items_i    (beat_items)
  );

  // The addresses that wait are right, and so are the records of all bursts inside. Bursts of which the last beat is
  // inside are counted; the youngest beats are those of the burst that is not whole, and no more.
  logic fits, in_order, marked, tails, heads;
  logic [31:0] n_ends;
  record_t kept;

  always_comb begin
    fits = 1'b1;
    for (int unsigned k = 0; k < Outstanding; k++) begin
      if (k < 32'(n_bursts) && 32'(waits[k][BeatW-1:0]) % MOST + 32'(waits[k][BeatW+:8]) >= MOST) fits = 1'b0;
    end
    in_order = 1'b1;
    marked   = 1'b1;
    for (int unsigned k = 0; k < 2 * Outstanding; k++) begin
      kept = recorded_q[oldest_q+all_t'(k)];
      if (k < 32'(n_records)) begin
        if (kept != records[TurnW'(records_read_q + (TurnW + 1)'(k))]) in_order = 1'b0;
      end else if (k < 32'(n_records) + 32'(n_bursts)) begin
        if (kept != bursts[TurnW'(bursts_read_q + (TurnW + 1)'(k) - n_records)][BurstW-1-:2]) in_order = 1'b0;
      end
      if (k < 32'(all) && kept.spoiled && !kept.last) marked = 1'b0;
    end
    n_ends = '0;
    tails  = 1'b1;
    heads  = 1'b1;
    for (int unsigned k = 0; k <= Depth; k++) begin
      if (k < n_beats) begin
        n_ends += 32'(beat_items[k][DataW+KeepW]);
        if (k + count_q >= n_beats && beat_items[k][DataW+KeepW]) tails = 1'b0;
        if (k + count_q + 1 == n_beats && !beat_items[k][DataW+KeepW]) heads = 1'b0;
      end
    end
  end

  always_comb begin
    if (!rst) begin
      if (m_axi_o.awvalid) begin
        a_here : assert (waiting != '0);
        a_burst : assert (burst <= MaxBurst);
        a_page : assert (address[63:12] == 52'((address + 64'(burst * KeepW) - 1) >> 12));
        a_size : assert (m_axi_o.awsize == 3'($clog2(KeepW)) && m_axi_o.awburst == 2'b01);
      end
      a_asks : assert (m_axi_o.awvalid == (waiting != '0 && 32'(owed) < Outstanding));
      if (m_axi_o.wvalid) a_whole : assert (whole_bursts_q != '0);
      if (waited_q) a_soon : assert (m_axi_o.wvalid);
      if (running_q) a_runs : assert (m_axi_o.wvalid);
      if (m_axi_i.bvalid) a_answer : assert (m_axi_o.bready);
      a_owed : assert (32'(owed) <= Outstanding);
      a_takes : assert (s_axis_tready || 32'(held) >= Depth || 32'(waiting) == Outstanding);
      a_way : assert (s_axis_tready || whole_bursts_q != '0 || waiting != '0);
      a_done : assert (done_o == done_q);
      if (done_o) a_failed : assert (failed_o == bad_done_q);

      i_inside : assert (first_q == !inside_q && (!inside_q || next_q == address_q));
      i_before : assert (32'(before_q) == count_q && count_q < MOST);
      if (count_q != '0) begin
        i_place : assert (inside_q && count_q <= 32'(next_q) % MOST && start_q == next_q - beat_t'(count_q));
      end
      i_bursts : assert (32'(n_bursts) <= Outstanding && bursts_ready == (32'(n_bursts) != Outstanding));
      i_records : assert (32'(n_records) <= Outstanding && records_ready == (32'(n_records) != Outstanding));
      i_beats : assert (32'(behind) <= Depth && beats_ready == (32'(behind) != Depth));
      i_owed : assert (owed == all_t'(n_records) && 32'(all) == 32'(n_records) + 32'(n_bursts));
      i_fits : assert (fits);
      i_in_order : assert (in_order);
      i_marked : assert (marked);
      i_bad : assert (failed_q == bad_q);
      i_whole : assert (32'(whole_q) == whole_bursts_q && whole_bursts_q == n_ends && n_ends <= Depth + 1);
      i_tails : assert (tails && heads && count_q <= n_beats);
      i_runs : assert (!running_q || (data_valid && whole_bursts_q != '0));
    end
  end

endmodule

bind s2mm s2mm_formal #(
    .DataW      (DataW),
    .AddrW      (AddrW),
    .Depth      (Depth),
    .Outstanding(Outstanding),
    .MaxBurst   (MaxBurst)
) u_formal (
    .m_axi_o        (m_axi_o),
    .m_axi_i        (m_axi_i),
    .bursts         (u_bursts.gen_group[0].memory),
    .bursts_write_q (u_bursts.write_q),
    .bursts_read_q  (u_bursts.read_q),
    .bursts_ready   (burst_ready),
    .records        (u_records.gen_group[0].memory),
    .records_write_q(u_records.write_q),
    .records_read_q (u_records.read_q),
    .records_ready  (record_ready),
    .beats          (u_buffer.memory),
    .beats_write_q  (u_buffer.write_q),
    .beats_read_q   (u_buffer.read_q),
    .beats_ready    (buffer_ready),
    .*
);
