// read_guard: a reader gets each beat that it asks for once, in order: from the memory the one that it is, or an error. One
// beat, any, is followed.
module read_guard_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512
) (
    input logic clk,
    input logic rst,

    input logic drain_i,

    input axi_read_request_t  s_axi_i,
    input axi_read_response_t s_axi_o,
    input logic [DataW-1:0]   s_axi_rdata,
    input axi_read_request_t  m_axi_o,
    input axi_read_response_t m_axi_i,
    input logic [DataW-1:0]   m_axi_rdata,

    input logic late_o,
    input logic owes_o,
    input logic left_o,

    input logic [15:0] due_q,
    input logic [15:0] owed,
    input logic [15:0] all_q,
    input logic        answers_q,

    input logic [71:0] data_q,
    input logic [71:0] skid_q,
    input logic        valid_q,
    input logic        skid_valid_q
);

  localparam int unsigned MOST = 512;  // beats that a reader has room for
  typedef logic [15:0] count_t;

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(72)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axi_o.arlen, m_axi_o.araddr}),
      .tvalid_i(m_axi_o.arvalid),
      .tready_i(m_axi_i.arready)
  );

  logic asked, passed, given, came;
  count_t beats, waits_q, lacks_q;  // that the reader waits for; that the memory was asked for and has not given

  assign asked = s_axi_i.arvalid && s_axi_o.arready;
  assign passed = asked && !answers_q;
  assign given = s_axi_o.rvalid;
  assign came = m_axi_i.rvalid;
  assign beats = count_t'(s_axi_i.arlen) + 1'b1;

  logic [1:0] waiting;

  queue_rule #(
      .DataW(72),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i({s_axi_i.arlen, s_axi_i.araddr}),
      .push_i     (passed),
      .pop_data_i ({m_axi_o.arlen, m_axi_o.araddr}),
      .pop_i      (m_axi_o.arvalid && m_axi_i.arready),
      .count_o    (waiting),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  // The beat that is followed: so many are asked for before it, come before it to the reader, and from the memory
  count_t before_q, ahead_q, place_q;
  logic follows_q, is_passed_q, met_q;

  always_ff @(posedge clk) begin
    waits_q <= waits_q + (asked ? beats : '0) - count_t'(given);
    lacks_q <= lacks_q + (passed ? beats : '0) - count_t'(came);
    if (asked && !met_q) before_q <= before_q - beats;
    if (asked && !met_q && before_q < beats) begin
      met_q <= 1'b1;
      follows_q <= 1'b1;
      is_passed_q <= passed;
      ahead_q <= waits_q + before_q - count_t'(given);
      place_q <= lacks_q + before_q - count_t'(came);
    end else begin
      ahead_q <= ahead_q - count_t'(given);
      place_q <= place_q - count_t'(came);
      if (given && ahead_q == '0) follows_q <= 1'b0;
    end
    if (rst) begin
      waits_q <= '0;
      lacks_q <= '0;
      met_q <= 1'b0;
      follows_q <= 1'b0;
    end
  end

  // The reader has room for what it asks for, and takes it; the memory gives what it was asked for.
  always_comb begin
    assume (s_axi_i.rready);
    assume (!s_axi_i.arvalid || waits_q + beats <= count_t'(MOST));
    assume (!passed || lacks_q <= count_t'(4 * MOST));
    assume (!came || lacks_q != '0);
  end

  logic gave_up_q;
  always_ff @(posedge clk) gave_up_q <= !rst && (late_o || drain_i);

  always_comb begin
    if (!rst) begin
      if (given) a_asked : assert (waits_q != '0);
      if (given && follows_q && ahead_q == '0 && !answers_q) begin
        a_its_own : assert (came && is_passed_q && place_q == '0);
        a_data : assert (s_axi_rdata == m_axi_rdata && s_axi_o.rresp == m_axi_i.rresp);
      end
      if (given && answers_q) a_error : assert (s_axi_o.rresp == 2'b10);
      if (gave_up_q && (late_o || drain_i)) a_takes : assert (s_axi_o.arready);
      if (gave_up_q) a_answers : assert (given == (waits_q != '0));
      if (!owes_o) a_owes_nothing : assert (lacks_q == '0 && waits_q == '0);
      a_left : assert (left_o == (lacks_q != (answers_q ? '0 : waits_q)));

      i_skid : assert (valid_q || !skid_valid_q);
      i_due : assert (due_q == waits_q && due_q <= count_t'(MOST));
      i_owed : assert (lacks_q == owed + (answers_q ? '0 : due_q) && owed <= count_t'(6 * MOST));
      i_all : assert (all_q == lacks_q);
      i_most : assert (lacks_q <= count_t'(5 * MOST));
      i_gave_up : assert (!gave_up_q || answers_q);
      i_met : assert (!follows_q || met_q);
      if (follows_q) begin
        i_ahead : assert (ahead_q < due_q);
        if (!answers_q) i_place : assert (is_passed_q && place_q == owed + ahead_q);
      end
    end
  end

endmodule

bind read_guard read_guard_formal #(
    .DataW(DataW)
) u_formal (
    .data_q      (u_ask.data_q),
    .skid_q      (u_ask.skid_q),
    .valid_q     (u_ask.valid_q),
    .skid_valid_q(u_ask.skid_valid_q),
    .*
);
