// cdc_axi_read: what goes into the queue of each channel, and what comes out of it, are all the fields of that channel, each in its place.
// That such a queue, cdc_axis, loses, doubles and reorders nothing is shown of it, and of cdc_packets in it.
module cdc_axi_read_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512
) (
    input axi_read_request_t  s_axi_i,
    input axi_read_response_t s_axi_o,
    input logic [DataW-1:0]   s_axi_rdata,
    input axi_read_request_t  m_axi_o,
    input axi_read_response_t m_axi_i,
    input logic [DataW-1:0]   m_axi_rdata,

    // The queues: of addresses to the memory, of data from it
    input axi_address_t     address_in,
    input logic             address_in_valid,
    input logic             address_in_ready,
    input axi_address_t     address_out,
    input logic             address_out_valid,
    input logic             address_out_ready,
    input logic [DataW+2:0] data_in,
    input logic             data_in_valid,
    input logic             data_in_ready,
    input logic [DataW+2:0] data_out,
    input logic             data_out_valid,
    input logic             data_out_ready
);

  always_comb begin
    a_asks : assert (address_in_valid == s_axi_i.arvalid && s_axi_o.arready == address_in_ready);
    a_address : assert (address_in.addr == s_axi_i.araddr && m_axi_o.araddr == address_out.addr);
    a_length : assert (address_in.len == s_axi_i.arlen && m_axi_o.arlen == address_out.len);
    a_size : assert (address_in.size == s_axi_i.arsize && m_axi_o.arsize == address_out.size);
    a_burst : assert (address_in.burst == s_axi_i.arburst && m_axi_o.arburst == address_out.burst);
    a_cache : assert (address_in.cache == s_axi_i.arcache && m_axi_o.arcache == address_out.cache);
    a_protection : assert (address_in.prot == s_axi_i.arprot && m_axi_o.arprot == address_out.prot);
    a_is_asked : assert (m_axi_o.arvalid == address_out_valid && address_out_ready == m_axi_i.arready);

    a_gives : assert (data_in_valid == m_axi_i.rvalid && m_axi_o.rready == data_in_ready);
    a_is_given : assert (s_axi_o.rvalid == data_out_valid && data_out_ready == s_axi_i.rready);
    a_data_in : assert (data_in == {m_axi_i.rlast, m_axi_i.rresp, m_axi_rdata});
    a_data_out : assert ({s_axi_o.rlast, s_axi_o.rresp, s_axi_rdata} == data_out);
  end

endmodule

bind cdc_axi_read cdc_axi_read_formal #(
    .DataW(DataW)
) u_formal (
    .address_in       (gen_cross.u_address.s_axis_tdata),
    .address_in_valid (gen_cross.u_address.s_axis_tvalid),
    .address_in_ready (gen_cross.u_address.s_axis_tready),
    .address_out      (gen_cross.u_address.m_axis_tdata),
    .address_out_valid(gen_cross.u_address.m_axis_tvalid),
    .address_out_ready(gen_cross.u_address.m_axis_tready),
    .data_in          (gen_cross.u_data.s_axis_tdata),
    .data_in_valid    (gen_cross.u_data.s_axis_tvalid),
    .data_in_ready    (gen_cross.u_data.s_axis_tready),
    .data_out         (gen_cross.u_data.m_axis_tdata),
    .data_out_valid   (gen_cross.u_data.m_axis_tvalid),
    .data_out_ready   (gen_cross.u_data.m_axis_tready),
    .*
);
