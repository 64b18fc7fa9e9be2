// tlp_rq lays TLPs on the interface of an UltraScale+ block: descriptor and payload in halves of beats that follow each other without a gap.
// One doubleword of each TLP is followed, any; of the beats out it is looked at what goes to the output registers. Bits are numbered as in PG213.
// A TLP is at the input (`in`), or its last half is kept behind it (`old`).
module tlp_rq_formal
  import pcie_pkg::*;
#(
    localparam int unsigned DataW = 512,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned UserW = 137
) (
    input logic clk,
    input logic rst,

    input logic      [  DataW-1:0] s_axis_tlp_tdata,
    input logic      [DwordsW-1:0] s_axis_tlp_tkeep,
    input logic                    s_axis_tlp_tlast,
    input tlp_user_t               s_axis_tlp_tuser,
    input logic                    s_axis_tlp_tvalid,
    input logic                    s_axis_tlp_tready,

    input logic [  DataW-1:0] m_axis_rq_tdata,
    input logic [DwordsW-1:0] m_axis_rq_tkeep,
    input logic               m_axis_rq_tlast,
    input logic [  UserW-1:0] m_axis_rq_tuser,
    input logic               m_axis_rq_tvalid,
    input logic               m_axis_rq_tready,

    // Inside: what goes to the output registers, and whether its upper half counts
    input logic                     valid,
    input logic                     ready,
    input logic                     pairs,
    input logic [DwordsW-1:0][31:0] out,
    input logic [        UserW-1:0] user,
    input logic                     out_last,
    input logic                     in_step,    // the registers, and the copies of control
    input logic [             9:0] reg_valids,
    input logic [             9:0] reg_skids,

    // What is kept
    input logic            first_q,
    input logic            keep_q,
    input logic            wait_q,
    input logic            kept_ends,
    input logic            kept_poisoned,
    input logic [2:0]      kept_most,
    input logic [7:0][31:0] kept,
    input logic [3:0][31:0] behind
);

  typedef logic [7:0] count_t;  // a TLP has 132 doublewords at most, its descriptor counted

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (DataW + DwordsW + 1 + $bits(tlp_user_t)),
      .Assume(1'b1)
  ) u_tlp (
      .clk,
      .rst,
      .tdata_i ({s_axis_tlp_tuser, s_axis_tlp_tlast, s_axis_tlp_tkeep, s_axis_tlp_tdata}),
      .tvalid_i(s_axis_tlp_tvalid),
      .tready_i(s_axis_tlp_tready)
  );

  hold_rule #(
      .DataW(DataW + DwordsW + 1 + UserW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_rq_tuser, m_axis_rq_tlast, m_axis_rq_tkeep, m_axis_rq_tdata}),
      .tvalid_i(m_axis_rq_tvalid),
      .tready_i(m_axis_rq_tready)
  );

  // The TLP at the input: beats of it that are taken, doublewords that it has with its descriptor.
  request_t request;
  count_t beats_q, dwords_q, dwords, total, left;
  logic read_q, read, take;

  assign request = s_axis_tlp_tuser.request;
  assign dwords = beats_q == '0 ? request.dwords : dwords_q;
  assign read = beats_q == '0 ? request.fence.read : read_q;
  assign total = read ? 8'd4 : dwords + 8'd4;
  assign left = dwords - 8'(beats_q << 4);
  assign take = s_axis_tlp_tvalid && s_axis_tlp_tready;

  always_comb begin
    if (s_axis_tlp_tvalid) begin
      assume (dwords != '0 && dwords <= 8'd128 && (!read || dwords == 8'd1));
      assume (request.fence.read == read);
      assume (s_axis_tlp_tlast == (left <= 8'd16));
      assume (s_axis_tlp_tkeep == (s_axis_tlp_tlast ? ~(~DwordsW'(0) << left) : '1));
    end
  end

  // The doubleword that is followed.
  count_t any_dword, of_payload;
  logic [127:0] descriptor;
  logic [31:0] item_q, item, old_item_q;

  always_ff @(posedge clk) any_dword <= any_dword;

  always_comb begin
    descriptor = {64'd0, request.address[63:2], 2'd0};
    descriptor[74:64] = 11'(request.dwords);
    descriptor[78:75] = request.fence.read ? 4'b0000 : 4'b0001;
    descriptor[103:96] = 8'(request.fence.tag);
  end

  assign of_payload = any_dword - 8'd4;

  always_comb begin
    item = item_q;
    if (s_axis_tlp_tvalid && any_dword < 8'd4) begin
      if (beats_q == '0) item = descriptor[32*any_dword[1:0]+:32];
    end else if (s_axis_tlp_tvalid && beats_q == of_payload >> 4) begin
      item = s_axis_tlp_tdata[32*of_payload[3:0]+:32];
    end
  end

  // The TLP behind it, and how many halves of the TLP under way have left. `ahead`: that is the one at the input.
  count_t old_total_q, halves_q, low_total, high_half;
  logic old_poisoned_q, ahead_q, low_ends, high_ends, low_poisoned, high_poisoned, in_poisoned, leaves;
  logic [31:0] low_item, high_item;

  assign in_poisoned = s_axis_tlp_tlast && s_axis_tlp_tuser.poisoned;
  assign low_total = ahead_q ? total : old_total_q;
  assign low_item = ahead_q ? item : old_item_q;
  assign low_poisoned = ahead_q ? in_poisoned : old_poisoned_q;
  assign low_ends = 8'(halves_q << 3) + 8'd8 >= low_total;
  assign high_half = low_ends ? '0 : halves_q + 1'b1;
  assign high_item = low_ends ? item : low_item;
  assign high_poisoned = low_ends ? in_poisoned : low_poisoned;
  assign high_ends = 8'(high_half << 3) + 8'd8 >= (low_ends ? total : low_total);
  assign leaves = valid && ready;

  always_ff @(posedge clk) begin
    if (s_axis_tlp_tvalid) item_q <= item;
    if (take) begin
      beats_q <= s_axis_tlp_tlast ? '0 : beats_q + 1'b1;
      dwords_q <= dwords;
      read_q <= read;
      if (s_axis_tlp_tlast) begin
        old_total_q <= total;
        old_item_q <= item;
        old_poisoned_q <= in_poisoned;
      end
    end
    if (leaves) begin
      halves_q <= (pairs ? high_ends : low_ends) ? '0 : pairs ? high_half + 1'b1 : halves_q + 1'b1;
      ahead_q <= !(take && s_axis_tlp_tlast) || (pairs ? high_ends && (low_ends || ahead_q) : low_ends && ahead_q);
    end
    if (rst) begin
      beats_q <= '0;
      halves_q <= '0;
      ahead_q <= 1'b1;
    end
  end

  // The doubleword that is followed is in the low half of this beat, or in the high one.
  logic in_low, in_high;

  assign in_low = any_dword >> 3 == halves_q && any_dword < low_total;
  assign in_high = pairs && any_dword >> 3 == high_half && any_dword < (low_ends ? total : low_total);

  always_comb begin
    if (!rst) begin
      if (valid) begin
        a_some : assert (!ahead_q || s_axis_tlp_tvalid || keep_q);
        a_gap : assert (pairs || low_ends);
        a_begins : assert (user[21:20] == {1'b0, halves_q == '0 || (pairs && low_ends)});
        if (user[20]) a_where : assert (user[23:22] == (halves_q == '0 ? 2'd0 : 2'd2));
        if (user[20]) a_one_begins : assert (!(halves_q == '0 && pairs && low_ends));
        if (user[20]) a_enables : assert (user[3:0] == request.first_be && user[11:8] == request.last_be);
        a_ends : assert (user[26] == (low_ends || (pairs && high_ends)));
        a_two_end : assert (user[27] == (low_ends && pairs && high_ends));
        if (low_ends) a_end : assert (user[31:28] == 4'(low_total - 1'b1 - 8'(halves_q << 3)));
        if (!low_ends && pairs && high_ends)
          a_high_end : assert (user[31:28] == 4'(low_total - 1'b1 - 8'(halves_q << 3)));
        if (user[27]) a_second_end : assert (user[35:32] == 4'(total + 8'd7));
        a_last : assert (out_last == user[26]);
        a_discontinue : assert (user[36] == ((low_ends && low_poisoned) || (pairs && high_ends && high_poisoned)));
        a_alone : assert (!user[36] || !(pairs && low_ends));
        a_nothing_else : assert (user[136:37] == '0 && user[19:16] == '0);
        if (in_low) a_low : assert (out[4'(any_dword[2:0])] == low_item);
        if (in_high) a_high : assert (out[{1'b1, any_dword[2:0]}] == high_item);
      end
      // Nothing is taken that does not leave or is kept, and nothing leaves twice.
      a_taken : assert (!take || leaves);

      // For the induction: what is kept.
      i_in_step : assert (in_step && reg_valids == {10{m_axis_rq_tvalid}} && reg_skids == {10{!ready}});
      i_first : assert (first_q == (beats_q == '0));
      if (beats_q != '0) begin
        i_inside : assert (beats_q < 8'd8 && 8'(beats_q << 4) < dwords_q && dwords_q <= 8'd128 && !read_q);
      end
      i_one : assert (!(keep_q && wait_q));
      i_ahead : assert (ahead_q != (keep_q && kept_ends));
      if (wait_q) i_wait : assert (s_axis_tlp_tvalid && s_axis_tlp_tlast && left > 8'd12);
      if (!keep_q) i_left : assert (halves_q == 8'(beats_q << 1) + 8'(wait_q));
      if (keep_q && !kept_ends) i_kept : assert (beats_q != '0 && halves_q == 8'(beats_q << 1) - 1'b1);
      if (keep_q && kept_ends) begin
        i_end : assert (beats_q == '0 && old_total_q <= 8'd132 && 8'(halves_q << 3) < old_total_q && low_ends);
        i_old : assert (halves_q != '0 && halves_q <= 8'd16);
        i_most : assert (8'(kept_most) == old_total_q - 1'b1 - 8'(halves_q << 3) && kept_poisoned == old_poisoned_q);
      end
      if (keep_q && any_dword >> 3 == halves_q && (!kept_ends || any_dword < old_total_q))
        i_data : assert (kept[any_dword[2:0]] == (kept_ends ? old_item_q : item_q));
      if (beats_q != '0 && any_dword >> 2 == 8'(beats_q << 2)) i_behind : assert (behind[any_dword[1:0]] == item_q);
    end
  end

endmodule

bind tlp_rq tlp_rq_formal u_formal (
    .out(data),
    .user(user),
    .out_last(ends_low || ends_high),
    .in_step(readies == {GROUPS{ready}} && valids == {GROUPS{m_axis_rq_tvalid}} && keeps_q == {GROUPS{keep_q}} &&
        rests_q == {GROUPS{wait_q}} && firsts_q == {GROUPS{first_q}}),
    .reg_valids({u_reg.valids_q, gen_group[0].u_reg.valids_q, gen_group[1].u_reg.valids_q, gen_group[2].u_reg.valids_q,
        gen_group[3].u_reg.valids_q}),
    .reg_skids({u_reg.skid_valids_q, gen_group[0].u_reg.skid_valids_q, gen_group[1].u_reg.skid_valids_q,
        gen_group[2].u_reg.skid_valids_q, gen_group[3].u_reg.skid_valids_q}),
    .kept_ends(kept_q.ends),
    .kept_poisoned(kept_q.poisoned),
    .kept_most(kept_q.most),
    .kept(kept_data_q),
    .behind(behind_q),
    .*
);
