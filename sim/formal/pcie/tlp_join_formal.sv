// tlp_join gives each TLP the bytes of its descriptor's payload, each in the lane of its address. One byte of each payload is followed, any.
// TLPs come as tlp_split makes them; `done` are the bytes of the descriptor in TLPs before, `taken` its payload beats that are taken.
module tlp_join_formal
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 128,

    localparam int unsigned KeepW  = DataW / 8,
    localparam int unsigned LanesW = $clog2(KeepW),
    localparam int unsigned DwordsW = DataW / 32
) (
    input logic clk,
    input logic rst,

    input tlp_t s_axis_tlp_tdata,
    input logic s_axis_tlp_tvalid,
    input logic s_axis_tlp_tready,

    input logic [DataW-1:0] s_axis_payload_tdata,
    input logic [KeepW-1:0] s_axis_payload_tkeep,
    input logic             s_axis_payload_tlast,
    input logic             s_axis_payload_tuser,
    input logic             s_axis_payload_tvalid,
    input logic             s_axis_payload_tready,

    input logic      [  DataW-1:0] m_axis_tdata,
    input logic      [DwordsW-1:0] m_axis_tkeep,
    input logic                    m_axis_tlast,
    input tlp_user_t               m_axis_tuser,
    input logic                    m_axis_tvalid,
    input logic                    m_axis_tready,

    input logic    status_valid_o,
    input status_e status_o,

    // Inside: the TLP under way, what goes to the output registers
    input tlp_t                    tlp_q,
    input logic                    tlp_valid_q,
    input logic                    first_q,
    input logic [            4:0]  left_q,
    input logic                    sends,         // not DISCARD
    input logic                    silent,
    input logic                    valid,
    input logic                    ready,
    input logic                    last,
    input logic                    poisoned,
    input logic                    poisoned_q,
    input logic                    held_bad_q,
    input logic                    ended_q,
    input logic                    too_short_q,
    input logic                    too_long_q,
    input logic                    bad_q,
    input status_e                 said_q,
    input logic [KeepW-1:0][7:0]   previous_q,
    input logic [KeepW-1:0][7:0]   lanes,         // to the output registers
    input logic [DwordsW-1:0]      keep,
    input logic                    earlier_equal, // the copies of tlp_q.earlier
    input logic                    in_step        // the output registers
);

  typedef logic [33:0] bytes_t;
  localparam bytes_t KEEP = bytes_t'(KeepW);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (DataW + KeepW + 2),
      .Assume(1'b1)
  ) u_payload (
      .clk,
      .rst,
      .tdata_i ({s_axis_payload_tuser, s_axis_payload_tlast, s_axis_payload_tkeep, s_axis_payload_tdata}),
      .tvalid_i(s_axis_payload_tvalid),
      .tready_i(s_axis_payload_tready)
  );

  hold_rule #(
      .DataW(DataW + DwordsW + 1 + $bits(tlp_user_t))
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  function automatic bytes_t beats_of(input bytes_t bytes);
    return (bytes + bytes_t'(KEEP - 1'b1)) >> LanesW;
  endfunction

  // The descriptor that comes in: its length, any, and the bytes in TLPs that came. Then that of the TLP under way.
  bytes_t in_any_length, in_length_q, in_done_q, in_size, length_q, done_q, size_q, in_length, in_lead, lead;
  tlp_t in;
  logic in_take;

  logic [1:0] lead_q;
  bytes_t in_read, in_to_read;

  // The address only passes: here it is what the TLP's bytes are, the solver's choice.
  assign in = s_axis_tlp_tdata;
  assign in_any_length = bytes_t'(in.request.address[31:0]);
  assign in_size = bytes_t'(in.request.address[41:32]);
  assign in_take = s_axis_tlp_tvalid && s_axis_tlp_tready;
  assign in_length = in_done_q == '0 ? in_any_length : in_length_q;
  assign in_lead = in_done_q == '0 ? bytes_t'(in.request.address[43:42]) : '0;
  assign in_read = beats_of(in_done_q);
  assign in_to_read = beats_of(in_done_q + in_size);

  // What is assumed of a TLP is what is proved of tlp_split.
  always_comb begin
    if (s_axis_tlp_tvalid) begin
      assume (in_length != '0 && in_size != '0 && in_size + in_lead <= 34'd512 && in_done_q + in_size <= in_length);
      assume (in.status == OK || (in.status <= BAD_PARITY));
      if (in.refused) begin
        assume (in.status != OK && in.ends && in_done_q == '0);
      end else begin
        assume (!in.empty && !in.request.fence.read);
        assume (in.ends == (in_done_q + in_size == in_length));
        assume (34'(in.request.dwords) == (in_lead + in_size + 34'd3) >> 2);
        assume (34'(in.beats) == (in_lead + in_size - 1) >> LanesW);
        assume (in.earlier == 6'(LanesW'(in_lead - in_done_q)));
        assume (in.tail == 6'(LanesW'(in_length - 1)));
        assume (34'(in.beats) + 34'(in.reads_last) == in_to_read - in_read);
        assume (in.final_read == (in_to_read != in_read && in_to_read == beats_of(in_length)));
      end
    end
  end

  always_ff @(posedge clk) begin
    if (in_take) begin
      in_length_q <= in_length;
      in_done_q <= in.ends ? '0 : in_done_q + in_size;
      length_q <= in_length;
      done_q <= in_done_q;
      size_q <= in_size;
      lead_q <= in_lead[1:0];
    end
    if (rst) in_done_q <= '0;
  end

  assign lead = bytes_t'(lead_q);

  // Payload: one packet a descriptor that is not empty, of as many bytes as it has. Some beats are wrong.
  bytes_t taken_q, beats;  // of the descriptor under way, or whose rest is dropped
  logic payload_take, serves;

  assign payload_take = s_axis_payload_tvalid && s_axis_payload_tready;
  assign serves = sends && tlp_valid_q && !tlp_q.refused;
  assign beats = beats_of(length_q);

  always_comb begin
    if (s_axis_payload_tvalid && serves) begin
      assume (s_axis_payload_tlast == (taken_q + 1 == beats));
      assume (s_axis_payload_tkeep == (s_axis_payload_tlast ? ~(~KeepW'(1) << tlp_q.tail) : '1));
    end
  end

  always_ff @(posedge clk) begin
    if (payload_take) taken_q <= s_axis_payload_tlast ? '0 : taken_q + 1'b1;
    if (rst) taken_q <= '0;
  end

  // The byte that is followed, by its number in its descriptor, and whether its beat was wrong.
  bytes_t any_byte, at, here;
  logic [7:0] byte_q, byte_now;
  logic wrong_q, wrong_now, comes, shown;
  logic [LanesW-1:0] lane;

  always_ff @(posedge clk) any_byte <= any_byte;

  assign comes = payload_take && serves && taken_q == any_byte >> LanesW;
  assign byte_now = comes ? s_axis_payload_tdata[8*32'(any_byte[LanesW-1:0])+:8] : byte_q;
  assign wrong_now = comes ? s_axis_payload_tuser : wrong_q;

  always_ff @(posedge clk) begin
    if (comes) begin
      byte_q <= byte_now;
      wrong_q <= wrong_now;
    end
  end

  // A beat out shows the bytes from `at` on, the TLP's `lead` counted too.
  assign at = done_q + ((34'(tlp_q.beats) - 34'(left_q)) << LanesW);
  assign here = any_byte + lead - at;
  assign lane = here[LanesW-1:0];
  assign shown = valid && ready && !silent && any_byte >= done_q && any_byte < done_q + size_q &&
      any_byte + lead >= at && here < bytes_t'(KeepW);

  // Of the descriptor under way: payload beats that it has, that are taken.
  bytes_t read, to_read, whole, all_taken;

  assign read = beats_of(done_q);
  assign to_read = beats_of(done_q + size_q);
  assign whole = tlp_valid_q ? beats : beats_of(in_length_q);

  always_comb begin
    all_taken = beats_of(in_done_q);
    if (tlp_valid_q) all_taken = tlp_q.refused ? '0 : read + 34'(tlp_q.beats) - 34'(left_q);
  end

  logic was_wrong_q;  // the byte that is followed was in this TLP, and wrong

  always_ff @(posedge clk) begin
    if (shown) was_wrong_q <= wrong_now;
    if (in_take) was_wrong_q <= 1'b0;
  end

  always_comb begin
    if (!rst) begin
      if (shown) a_byte : assert (lanes[lane] == byte_now);
      if (shown) a_keep : assert (keep[lane[LanesW-1:2]]);
      if (shown && wrong_now && last) a_poisoned : assert (poisoned);
      if (valid && ready && !silent && last && was_wrong_q) a_poisoned_before : assert (poisoned);
      if (valid && tlp_valid_q && !silent) a_last : assert (last == (at + bytes_t'(KeepW) >= done_q + lead + size_q));

      // For the induction: what is under way, and how much of its payload is taken.
      i_in_step : assert (in_step);
      i_short : assert (!too_short_q && !too_long_q);
      i_order : assert (in_done_q == '0 || (in_done_q < in_length_q && in_length_q <= 34'hFFFF_FFFF));
      if (tlp_valid_q) begin
        i_earlier : assert (earlier_equal);
        i_next : assert (in_done_q == (tlp_q.ends ? '0 : done_q + size_q) && (tlp_q.ends || in_length_q == length_q));
        i_left : assert (tlp_q.refused || (left_q <= tlp_q.beats && first_q == (left_q == tlp_q.beats)));
      end
      if (tlp_valid_q && tlp_q.refused) begin
        i_refused : assert (tlp_q.status != OK && tlp_q.ends && first_q);
      end
      if (tlp_valid_q && !tlp_q.refused) begin
        i_length : assert (length_q != '0 && length_q <= 34'hFFFF_FFFF && size_q != '0 && size_q + lead <= 34'd512 &&
            done_q + size_q <= length_q && (done_q == '0 || lead == '0));
        i_plain : assert (!tlp_q.empty && !tlp_q.request.fence.read && tlp_q.ends == (done_q + size_q == length_q));
        i_beats : assert (34'(tlp_q.beats) == (lead + size_q - 1) >> LanesW);
        i_dwords : assert (34'(tlp_q.request.dwords) == (lead + size_q + 34'd3) >> 2);
        i_lanes : assert (tlp_q.earlier == 6'(LanesW'(lead - done_q)) && tlp_q.tail == 6'(LanesW'(length_q - 1)));
        i_reads : assert (34'(tlp_q.beats) + 34'(tlp_q.reads_last) == to_read - read);
        i_final : assert (tlp_q.final_read == (to_read != read && to_read == beats));
      end
      if (!sends) begin
        i_discard : assert (!ended_q && in_done_q == (tlp_valid_q && !tlp_q.ends ? done_q + size_q : '0));
        i_discard_first : assert (!tlp_valid_q || (first_q && done_q == '0));
      end else begin
        i_taken : assert (ended_q ? taken_q == '0 && all_taken == whole && all_taken != '0 : taken_q == all_taken);
        i_not_whole : assert (ended_q || all_taken == '0 || all_taken < whole);
      end
      if (all_taken != '0 && any_byte >> LanesW == all_taken - 1) begin
        i_held : assert (previous_q[any_byte[LanesW-1:0]] == byte_q && held_bad_q == wrong_q);
      end
      if (all_taken == '0) i_clean : assert (!held_bad_q);
      if (tlp_valid_q && first_q) i_fresh : assert (!poisoned_q && !was_wrong_q);
      if (tlp_valid_q && !first_q) i_sticky : assert (poisoned_q || (!held_bad_q && !was_wrong_q));
    end
  end

endmodule

bind tlp_join tlp_join_formal #(
    .DataW(DataW)
) u_formal (
    .sends(state_q == SEND),
    .lanes(moved[STAGES][KeepW-1:0]),
    .earlier_equal(earlier_q == {GROUPS{lane_t'(tlp_q.earlier)}}),
    .in_step(readies == {GROUPS{ready}} && valids == {GROUPS{m_axis_tvalid}}),
    .*
);
