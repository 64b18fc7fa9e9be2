// cdc_axi_write: what goes into the queue of each channel, and what comes out of it, are all the fields of that channel, each in its place.
// That such a queue, cdc_axis, loses, doubles and reorders nothing is shown of it, and of cdc_packets in it.
module cdc_axi_write_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input axi_write_request_t  s_axi_i,
    input axi_write_response_t s_axi_o,
    input logic [DataW-1:0]    s_axi_wdata,
    input logic [KeepW-1:0]    s_axi_wstrb,
    input axi_write_request_t  m_axi_o,
    input axi_write_response_t m_axi_i,
    input logic [DataW-1:0]    m_axi_wdata,
    input logic [KeepW-1:0]    m_axi_wstrb,

    // The queues: of addresses and of data to the memory, of answers from it
    input axi_address_t           address_in,
    input logic                   address_in_valid,
    input logic                   address_in_ready,
    input axi_address_t           address_out,
    input logic                   address_out_valid,
    input logic                   address_out_ready,
    input logic [DataW+KeepW-1:0] data_in,
    input logic                   data_in_last,
    input logic                   data_in_valid,
    input logic                   data_in_ready,
    input logic [DataW+KeepW-1:0] data_out,
    input logic                   data_out_last,
    input logic                   data_out_valid,
    input logic                   data_out_ready,
    input logic [1:0]             answer_in,
    input logic                   answer_in_valid,
    input logic                   answer_in_ready,
    input logic [1:0]             answer_out,
    input logic                   answer_out_valid,
    input logic                   answer_out_ready
);

  always_comb begin
    a_asks : assert (address_in_valid == s_axi_i.awvalid && s_axi_o.awready == address_in_ready);
    a_address : assert (address_in.addr == s_axi_i.awaddr && m_axi_o.awaddr == address_out.addr);
    a_length : assert (address_in.len == s_axi_i.awlen && m_axi_o.awlen == address_out.len);
    a_size : assert (address_in.size == s_axi_i.awsize && m_axi_o.awsize == address_out.size);
    a_burst : assert (address_in.burst == s_axi_i.awburst && m_axi_o.awburst == address_out.burst);
    a_cache : assert (address_in.cache == s_axi_i.awcache && m_axi_o.awcache == address_out.cache);
    a_protection : assert (address_in.prot == s_axi_i.awprot && m_axi_o.awprot == address_out.prot);
    a_is_asked : assert (m_axi_o.awvalid == address_out_valid && address_out_ready == m_axi_i.awready);

    a_gives : assert (data_in_valid == s_axi_i.wvalid && s_axi_o.wready == data_in_ready);
    a_data_in : assert (data_in == {s_axi_wstrb, s_axi_wdata} && data_in_last == s_axi_i.wlast);
    a_data_out : assert ({m_axi_wstrb, m_axi_wdata} == data_out && m_axi_o.wlast == data_out_last);
    a_is_given : assert (m_axi_o.wvalid == data_out_valid && data_out_ready == m_axi_i.wready);

    a_answers : assert (answer_in_valid == m_axi_i.bvalid && m_axi_o.bready == answer_in_ready);
    a_answer : assert (answer_in == m_axi_i.bresp && s_axi_o.bresp == answer_out);
    a_is_answered : assert (s_axi_o.bvalid == answer_out_valid && answer_out_ready == s_axi_i.bready);
  end

endmodule

bind cdc_axi_write cdc_axi_write_formal #(
    .DataW(DataW)
) u_formal (
    .address_in       (gen_cross.u_address.s_axis_tdata),
    .address_in_valid (gen_cross.u_address.s_axis_tvalid),
    .address_in_ready (gen_cross.u_address.s_axis_tready),
    .address_out      (gen_cross.u_address.m_axis_tdata),
    .address_out_valid(gen_cross.u_address.m_axis_tvalid),
    .address_out_ready(gen_cross.u_address.m_axis_tready),
    .data_in          (gen_cross.u_data.s_axis_tdata),
    .data_in_last     (gen_cross.u_data.s_axis_tlast),
    .data_in_valid    (gen_cross.u_data.s_axis_tvalid),
    .data_in_ready    (gen_cross.u_data.s_axis_tready),
    .data_out         (gen_cross.u_data.m_axis_tdata),
    .data_out_last    (gen_cross.u_data.m_axis_tlast),
    .data_out_valid   (gen_cross.u_data.m_axis_tvalid),
    .data_out_ready   (gen_cross.u_data.m_axis_tready),
    .answer_in        (gen_cross.u_answer.s_axis_tdata),
    .answer_in_valid  (gen_cross.u_answer.s_axis_tvalid),
    .answer_in_ready  (gen_cross.u_answer.s_axis_tready),
    .answer_out       (gen_cross.u_answer.m_axis_tdata),
    .answer_out_valid (gen_cross.u_answer.m_axis_tvalid),
    .answer_out_ready (gen_cross.u_answer.m_axis_tready),
    .*
);
